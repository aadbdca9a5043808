#include "plait/collectives/local/group.h"

#include <gmock/gmock.h>
#include <pthread.h>

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "plait/base/recording_binder.h"

namespace plait::collectives::local {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr int kMeetings = 3;

// A member that adds up what all brought: to every meeting it brings the sum of the former one and its own
// number.
class Adder : public Run {
  public:
    Adder(LocalGroup& group, int member, StopWord& stop) : group_(group), member_(member), stop_(stop) {
        for (size_t i = 0; i < kMeetings; ++i)
            parts_[i] = {.term = &terms_[i], .results = {{&sums_[i], true}}};
    }

    int meetings() const override { return kMeetings; }
    const Part& part(int meeting) const override { return parts_[static_cast<size_t>(meeting)]; }

    void work(int stretch, int worker) override {
        {
            std::lock_guard lock(mutex_);
            threads_.insert(pthread_self());
        }
        if (worker > 0) return;
        std::this_thread::sleep_for(rest_);
        const auto at = static_cast<size_t>(stretch);
        if (stretch > 0 && !is_dealt(stretch - 1)) sums_[at - 1] = sum(stretch - 1);
        if (stretch == fails_at_) stop_.fail("no luck");
        ++stretches_;
        if (stretch < kMeetings)
            terms_[at] = static_cast<float>(member_) + (stretch > 0 ? sums_[at - 1] : 0.0f);
    }

    bool is_dealt(int meeting) const override { return meeting == 1; }
    void work_slice(int meeting, int slice, int slices) override {
        EXPECT_EQ(slices, group_.threads());
        if (slice != slices - 1) return;
        std::this_thread::sleep_for(rest_);
        const float all = sum(meeting);
        for (int m = 0; m < group_.members(); ++m) *group_.part(m, meeting).results[0].values = all;
    }

    float result(int meeting) const { return sums_[static_cast<size_t>(meeting)]; }
    void rest(std::chrono::milliseconds time) { rest_ = time; }
    void fail_at(int stretch) { fails_at_ = stretch; }
    int stretches() const { return stretches_; }
    const std::set<pthread_t>& threads() const { return threads_; }

  private:
    float sum(int meeting) const {
        float all = 0;
        for (int m = 0; m < group_.members(); ++m) all += *group_.part(m, meeting).term;
        return all;
    }

    LocalGroup& group_;
    const int member_;
    StopWord& stop_;
    Part parts_[kMeetings];
    float terms_[kMeetings] = {};
    float sums_[kMeetings] = {};
    std::chrono::milliseconds rest_{0};  // in every stretch, and for the last slice of what is dealt
    int fails_at_ = -1;
    int stretches_ = 0;
    std::mutex mutex_;
    std::set<pthread_t> threads_;
};

CoreMap two_cores() {
    CoreMap map = detect_cores();
    map.quota = 2;
    return map;
}

class Adders {
  public:
    explicit Adders(const std::vector<int>& workers)
        : cores_(two_cores()), group_(static_cast<int>(workers.size())) {
        for (size_t m = 0; m < workers.size(); ++m) {
            group_.join(static_cast<int>(m), cores_, {.workers = workers[m], .pins = {}});
            members_.push_back(std::make_unique<Adder>(group_, static_cast<int>(m), stop_));
        }
        group_.open();
    }

    std::string run() {
        for (size_t m = 0; m < members_.size(); ++m) group_.start(static_cast<int>(m), *members_[m], stop_);
        for (size_t m = 0; m < members_.size(); ++m) group_.finish(static_cast<int>(m));
        const std::string message = stop_.message();
        stop_.reset();
        return message;
    }

    std::vector<float> results(int meeting) const {
        std::vector<float> all;
        for (const auto& member : members_) all.push_back(member->result(meeting));
        return all;
    }

    LocalGroup& group() { return group_; }
    StopWord& stop() { return stop_; }
    Adder& member(size_t m) { return *members_[m]; }

  private:
    Cores cores_;
    StopWord stop_;
    LocalGroup group_;
    std::vector<std::unique_ptr<Adder>> members_;
};

class LocalGroupTest : public testing::TestWithParam<std::vector<int>> {};

TEST_P(LocalGroupTest, EverybodySeesWhatAllBrought) {
    Adders adders(GetParam());
    const auto n = static_cast<float>(GetParam().size());
    const float first = n * (n - 1) / 2, second = first + n * first, third = first + n * second;
    for (int round = 0; round < 100; ++round) {
        ASSERT_EQ(adders.run(), "");
        EXPECT_THAT(adders.results(0), Each(first));
        EXPECT_THAT(adders.results(1), Each(second));
        EXPECT_THAT(adders.results(2), Each(third));
    }
}

TEST_P(LocalGroupTest, AnErrorStopsAllAtTheSameMeetingAndTheNextRunIsRight) {
    Adders adders(GetParam());
    const size_t last = GetParam().size() - 1;
    for (int round = 0; round < 20; ++round) {
        std::vector<int> before;
        for (size_t m = 0; m <= last; ++m) before.push_back(adders.member(m).stretches());
        adders.member(last).fail_at(1);
        EXPECT_EQ(adders.run(), "no luck");
        for (size_t m = 0; m <= last; ++m) EXPECT_EQ(adders.member(m).stretches(), before[m] + 2);
        adders.member(last).fail_at(-1);
        EXPECT_EQ(adders.run(), "");
    }
}

TEST_P(LocalGroupTest, AWordThatIsSetBeforeTheLastMemberStartsStopsAll) {
    Adders adders(GetParam());
    adders.stop().cancel();
    EXPECT_EQ(adders.run(), "cancelled");
    for (size_t m = 0; m < GetParam().size(); ++m) EXPECT_EQ(adders.member(m).stretches(), 0);
    EXPECT_EQ(adders.run(), "");
}

TEST_P(LocalGroupTest, AJobRunsOnTheMembersOwnWorkersOnly) {
    Adders adders(GetParam());
    EXPECT_EQ(adders.run(), "");
    for (size_t m = 0; m < GetParam().size(); ++m) {
        struct Context {
            std::mutex mutex;
            std::set<pthread_t> threads;
            std::multiset<int> workers;
        } context;
        adders.group().run_job(
            static_cast<int>(m),
            [](void* raw, int worker) {
                auto& seen = *static_cast<Context*>(raw);
                std::lock_guard lock(seen.mutex);
                seen.threads.insert(pthread_self());
                seen.workers.insert(worker);
            },
            &context);
        EXPECT_EQ(context.threads, adders.member(m).threads());
        std::multiset<int> expected;
        for (int worker = 0; worker < GetParam()[m]; ++worker) expected.insert(worker);
        EXPECT_EQ(context.workers, expected);
    }
}

TEST_P(LocalGroupTest, TimesOfAMemberAddUpToThatOfTheRuns) {
    constexpr int kRuns = 3;
    constexpr double kRest = 0.001;
    Adders adders(GetParam());
    LocalGroup& group = adders.group();
    const auto members = static_cast<int>(GetParam().size());
    for (int m = 0; m < members; ++m)
        adders.member(static_cast<size_t>(m)).rest(std::chrono::milliseconds(1));
    const auto times_after = [&](int runs) {
        for (int i = 0; i < runs; ++i) EXPECT_EQ(adders.run(), "");
        std::vector<device::RunTimes> times;
        for (int m = 0; m < members; ++m) times.push_back(group.run_times(m));
        return times;
    };
    for (const device::RunTimes& times : times_after(1)) EXPECT_EQ(times.all() + times.runs, 0);
    for (int again = 0; again < 2; ++again) {
        group.time_runs(true);
        const auto begin = std::chrono::steady_clock::now();
        const std::vector<device::RunTimes> timed = times_after(kRuns);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
        double reduce = 0;
        for (int m = 0; m < members; ++m) {
            const device::RunTimes& times = timed[static_cast<size_t>(m)];
            EXPECT_EQ(times.runs, kRuns);
            EXPECT_GE(times.compute * group.workers(m), kRuns * (kMeetings + 1) * kRest);
            EXPECT_GE(times.wait, 0);
            EXPECT_NEAR(times.all(), timed[0].all(), 1e-9);
            EXPECT_GE(times.all(), kRuns * (kMeetings + 2) * kRest);
            EXPECT_LE(times.all(), elapsed.count());
            reduce += times.reduce * group.workers(m);
        }
        EXPECT_GE(reduce, kRuns * kRest);
        group.time_runs(false);
        for (const device::RunTimes& times : times_after(1)) EXPECT_NEAR(times.all(), timed[0].all(), 1e-9);
    }
}

INSTANTIATE_TEST_SUITE_P(Workers, LocalGroupTest,
                         testing::Values(std::vector{1}, std::vector{3}, std::vector{1, 1},
                                         std::vector{1, 1, 1, 1}, std::vector{2, 2}, std::vector{2, 1, 3}));

// Four members with a worker each, two cores.
TEST(LocalGroup, NoMoreThreadsThanCoresWork) {
    Adders adders({1, 1, 1, 1});
    EXPECT_EQ(adders.group().threads(), 2);
    EXPECT_EQ(adders.run(), "");
    EXPECT_EQ(adders.member(0).threads(), adders.member(2).threads());
    EXPECT_EQ(adders.member(1).threads(), adders.member(3).threads());
    EXPECT_NE(adders.member(0).threads(), adders.member(1).threads());
    EXPECT_TRUE(adders.group().cores().spin_allowed() || adders.group().cores().usable() < 2);
}

TEST(LocalGroup, AMemberWaitsWhileAnotherHasItsThread) {
    Adders adders({1, 1, 1, 1});
    for (size_t m = 0; m < 4; ++m) adders.member(m).rest(std::chrono::milliseconds(m == 2 ? 5 : 0));
    adders.group().time_runs(true);
    EXPECT_EQ(adders.run(), "");
    const double busy = adders.group().run_times(2).compute;
    EXPECT_GE(busy, 0.005 * (kMeetings + 1));
    EXPECT_GE(adders.group().run_times(0).wait, busy);
}

TEST(LocalGroup, ThreadsAreBoundToTheirMembersCores) {
    auto recorded = std::make_unique<RecordingBinder>();
    const RecordingBinder& binder = *recorded;
    Cores cores(imagine_cores({.topology = "numa:2 core:2 pu:1"}), std::move(recorded));
    LocalGroup group(2);
    StopWord stop;
    Adder first(group, 0, stop), second(group, 1, stop);
    group.join(0, cores, {.workers = 2, .pins = {1, 0}});
    group.join(1, cores, {.workers = 2, .pins = {2, 3}});
    group.open();
    group.start(0, first, stop);
    group.start(1, second, stop);
    group.finish(0);
    group.finish(1);
    std::map<pthread_t, int> core_of;
    for (const RecordingBinder::Thread& thread : binder.threads()) core_of[thread.thread] = thread.cpu;
    const auto cores_of = [&](const Adder& member) {
        std::set<int> cpus;
        for (const pthread_t thread : member.threads()) cpus.insert(core_of.at(thread));
        return cpus;
    };
    EXPECT_THAT(cores_of(first), ElementsAre(0, 1));
    EXPECT_THAT(cores_of(second), ElementsAre(2, 3));
}

}  // namespace
}  // namespace plait::collectives::local
