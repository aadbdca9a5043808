#include "plait/base/worker_pool.h"

#include <gmock/gmock.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "plait/base/allocation_count.h"
#include "plait/base/barrier.h"
#include "plait/base/cancel.h"
#include "plait/base/error.h"
#include "plait/base/recording_binder.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

namespace plait {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

Cores two_cores() { return Cores({.cpus = {0, 1}}); }

template <typename Context>
void run(WorkerPool& pool, WorkerPool::Job job, Context& context) {
    pool.start(job, &context);
    pool.finish();
}

double process_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class PoolOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, PoolOf, testing::Values(1, 2, 3, 8, 64));

TEST_P(PoolOf, EveryWorkerRunsEveryJobOnce) {
    Cores cores = two_cores();
    WorkerPool pool(cores, GetParam());
    EXPECT_EQ(cores.live_workers(), GetParam());
    std::vector<int> runs(static_cast<size_t>(GetParam()), 0);  // plain: the pool orders the accesses
    for (int job = 1; job <= 100; ++job) {
        run(
            pool, [](void* context, int worker) { ++static_cast<int*>(context)[worker]; }, runs[0]);
        EXPECT_THAT(runs, testing::Each(job));
    }
}

TEST(WorkerPoolTest, ReleasesItsLease) {
    Cores cores = two_cores();
    { WorkerPool pool(cores, 5); }
    EXPECT_EQ(cores.live_workers(), 0);
}

TEST(WorkerPoolTest, TheCallerIsWorkerZero) {
    Cores cores = two_cores();
    WorkerPool pool(cores, 3);
    std::vector<std::thread::id> ids(3);
    run(
        pool,
        [](void* context, int worker) {
            (*static_cast<std::vector<std::thread::id>*>(context))[static_cast<size_t>(worker)] =
                std::this_thread::get_id();
        },
        ids);
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    EXPECT_NE(ids[1], ids[0]);
    EXPECT_NE(ids[2], ids[0]);
    EXPECT_NE(ids[1], ids[2]);
}

// The threads work while the caller does something else, and finish() may come from another thread than
// start().
TEST(WorkerPoolTest, StartReturnsWhileTheJobRuns) {
    Cores cores = two_cores();
    WorkerPool pool(cores, 2);
    struct {
        std::atomic<bool> go{false};
        std::atomic<int> finished{0};
    } state;
    using State = decltype(state);
    pool.start(
        [](void* context, int worker) {
            auto* shared = static_cast<State*>(context);
            while (worker == 1 && !shared->go) std::this_thread::sleep_for(1ms);
            ++shared->finished;
        },
        &state);
    EXPECT_EQ(state.finished, 0);
    state.go = true;
    while (state.finished == 0) std::this_thread::sleep_for(1ms);
    std::thread([&] { pool.finish(); }).join();
    EXPECT_EQ(state.finished, 2);
}

TEST(WorkerPoolTest, FinishWaitsForSlowWorkers) {
    Cores cores = two_cores();
    WorkerPool pool(cores, 3);
    std::atomic<int> finished{0};
    run(
        pool,
        [](void* context, int worker) {
            std::this_thread::sleep_for(worker * 20ms);
            ++*static_cast<std::atomic<int>*>(context);
        },
        finished);
    EXPECT_EQ(finished, 3);
}

// Two devices in one step: both pools run at once and their workers meet.
TEST(WorkerPoolTest, TwoPoolsMeetInOneBarrier) {
    Cores cores = two_cores();
    WorkerPool first(cores, 1), second(cores, 2);
    struct Step {
        Barrier barrier;
        StopWord stop;
        std::atomic<int> rounds{0};
    } step{.barrier = Barrier(3, cores)};
    const auto job = [](void* context, int) {
        auto* shared = static_cast<Step*>(context);
        for (int i = 0; i < 100; ++i)
            if (shared->barrier.wait(shared->stop.word())) ++shared->rounds;
    };
    // Worker 0 of the second pool needs a thread of its own while this one is worker 0 of the first.
    second.start(job, &step);
    std::thread other([&] { second.finish(); });
    run(first, job, step);
    other.join();
    EXPECT_EQ(step.rounds, 300);
}

TEST(WorkerPoolTest, ManyWorkersOnFewCoresFinishPromptly) {
    Cores cores = two_cores();
    constexpr int kWorkers = 64, kJobs = 1000;
    WorkerPool pool(cores, kWorkers);
    EXPECT_FALSE(cores.spin_allowed());
    struct Step {
        Barrier barrier;
        StopWord stop;
        std::atomic<int> passed{0};
    } step{.barrier = Barrier(kWorkers, cores)};
    const auto begin = std::chrono::steady_clock::now();
    for (int job = 0; job < kJobs; ++job)
        run(
            pool,
            [](void* context, int) {
                auto* shared = static_cast<Step*>(context);
                if (shared->barrier.wait(shared->stop.word())) ++shared->passed;
            },
            step);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(step.passed, kWorkers * kJobs);
    RecordProperty("seconds", std::to_string(elapsed.count()));
    EXPECT_LT(elapsed.count(), 60);  // some seconds on two busy cores; spinning would take minutes
}

TEST(WorkerPoolTest, AnIdlePoolUsesNoProcessorTime) {
    Cores cores = two_cores();
    WorkerPool pool(cores, 2);
    int ignored = 0;
    run(
        pool, [](void*, int) {}, ignored);
    std::this_thread::sleep_for(20ms);  // past the spinning
    const double before = process_seconds();
    std::this_thread::sleep_for(2s);
    EXPECT_LT(process_seconds() - before, 0.02);
    while (process_seconds() - before < 0.05) continue;  // hangs if the clock does not count
}

TEST(WorkerPoolTest, RunningAllocatesNothing) {
    Cores cores = two_cores();
    WorkerPool pool(cores, 4);
    struct Step {
        Barrier barrier;
        StopWord stop;
    } step{.barrier = Barrier(4, cores)};
    const auto job = [](void* context, int) {
        auto* shared = static_cast<Step*>(context);
        (void)shared->barrier.wait(shared->stop.word());
    };
    run(pool, job, step);
    const long before = allocation_count();
    for (int i = 0; i < 100; ++i) run(pool, job, step);
    EXPECT_EQ(allocation_count() - before, 0);
    ::operator delete(::operator new(1));
    EXPECT_GT(allocation_count() - before, 0) << "the counter does not count";
}

TEST(WorkerPoolTest, ThreadsHaveNamesAndNoSignals) {
    Cores cores = two_cores();
    WorkerPool pool(cores, 3);
    struct Seen {
        std::string name;
        bool interruptible = false;
    };
    std::vector<Seen> seen(3);
    run(
        pool,
        [](void* context, int worker) {
            char name[16] = {};
            pthread_getname_np(pthread_self(), name, sizeof name);
            sigset_t blocked;
            pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
            static_cast<Seen*>(context)[worker] = {name, sigismember(&blocked, SIGINT) == 0};
        },
        seen[0]);
    EXPECT_TRUE(seen[0].interruptible);
    for (size_t worker : {1, 2}) {
        EXPECT_EQ(seen[worker].name, "plait-w" + std::to_string(worker));
        EXPECT_FALSE(seen[worker].interruptible);
    }
}

TEST(WorkerPoolTest, PinnedWorkersStayOnTheirCores) {
    Cores cores;
    const std::vector<int> pins{cores.cpus().back(), cores.cpus().front()};
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    {
        WorkerPool pool(cores, 3, pins);
        std::vector<int> ran_on(3, -1);
        run(
            pool, [](void* context, int worker) { static_cast<int*>(context)[worker] = sched_getcpu(); },
            ran_on[0]);
        EXPECT_THAT(ran_on, testing::ElementsAre(pins[0], pins[1], pins[0]));
    }
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(WorkerPoolTest, RefusesACoreItMayNotUse) {
    Cores cores = two_cores();
    EXPECT_THAT(
        [&] {
            WorkerPool(cores, 2, std::vector<int>{0, 7});
        },
        ThrowsMessage<Error>("worker pool: core 7 is not one that this process may use"));
    EXPECT_EQ(cores.live_workers(), 0);
}

// A container may allow a core by name and refuse to bind to it.
TEST(WorkerPoolTest, WarnsOnceWhereThreadsCannotBeBound) {
    Cores cores({.cpus = {0, 1, 2, 3}}, std::make_unique<RecordingBinder>(true));
    testing::internal::CaptureStderr();
    WorkerPool pool(cores, 4, std::vector<int>{0, 1, 2, 3});
    std::vector<int> runs(4, 0);
    for (int job = 0; job < 3; ++job)
        run(
            pool, [](void* context, int worker) { ++static_cast<int*>(context)[worker]; }, runs[0]);
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_THAT(runs, testing::Each(3));
    EXPECT_THAT(told, HasSubstr("refuses to bind a thread to core 1; threads run where"));
    EXPECT_EQ(told.find("refuses"), told.rfind("refuses")) << told;
}

TEST(WorkerPoolTest, BindsEveryWorkerToItsCore) {
    auto recorded = std::make_unique<RecordingBinder>();
    RecordingBinder& binder = *recorded;
    Cores cores({.cpus = {0, 3, 5, 9}}, std::move(recorded));
    WorkerPool pool(cores, 3, std::vector<int>{9, 3, 5});
    std::vector<pthread_t> threads(3);
    run(
        pool, [](void* context, int worker) { static_cast<pthread_t*>(context)[worker] = pthread_self(); },
        threads[0]);
    std::map<pthread_t, int> bound;
    for (const RecordingBinder::Thread& thread : binder.threads()) bound[thread.thread] = thread.cpu;
    EXPECT_EQ(bound, (std::map<pthread_t, int>{{threads[0], 9}, {threads[1], 3}, {threads[2], 5}}));
}

TEST(WorkerPoolDeathTest, ReportsThreadsThatTheSystemRefuses) {
    if (kSanitized) GTEST_SKIP() << "sanitizers need more address space than the test leaves";
    const auto with_little_memory = [] {
        rlimit limit{.rlim_cur = 256 << 20, .rlim_max = 256 << 20};
        setrlimit(RLIMIT_AS, &limit);
        Cores cores = two_cores();
        try {
            WorkerPool pool(cores, 10000);
        } catch (const Error& error) {
            std::cerr << error.what();
            std::exit(cores.live_workers() == 0 ? 0 : 1);
        }
        std::exit(2);
    };
    EXPECT_EXIT(with_little_memory(), testing::ExitedWithCode(0), "of 9999 threads and then refused");
}

TEST(WorkerPoolDeathTest, StartAndFinishAlternate) {
    Cores cores = two_cores();
    const auto nothing = [](void*, int) {};
    EXPECT_DEATH(WorkerPool(cores, 1).finish(), "without start");
    EXPECT_DEATH(
        {
            WorkerPool pool(cores, 1);
            pool.start(nothing, nullptr);
            pool.start(nothing, nullptr);
        },
        "without finish");
    EXPECT_DEATH(
        {
            WorkerPool pool(cores, 1);
            pool.start(nothing, nullptr);
        },
        "a pool ends while its job runs");
}

}  // namespace
}  // namespace plait
