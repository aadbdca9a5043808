#include "plait/collectives/local/group.h"

#include <utility>

#include "plait/base/ensure.h"

namespace plait::collectives::local {

LocalGroup::LocalGroup(int members)
    : wanted_(static_cast<size_t>(members), Wanted{.workers = 0}),
      runs_(static_cast<size_t>(members)),
      started_(static_cast<size_t>(members)) {}

void LocalGroup::join(int member, Cores& cores, Wanted wanted) {
    ENSURE(pool_ == nullptr && wanted.workers >= 1, "members join before the threads start");
    ENSURE(cores_ == nullptr || cores_ == &cores, "members of a group share the cores");
    cores_ = &cores;
    wanted_[static_cast<size_t>(member)] = std::move(wanted);
}

void LocalGroup::open() {
    if (pool_ != nullptr) return;
    for (const Wanted& member : wanted_) ENSURE(member.workers > 0, "all members have joined");
    seats_ = deal_seats(wanted_, cores_->usable(), cores_->filling());
    pool_ = std::make_unique<WorkerPool>(*cores_, threads(), seats_.pins);
    meeting_.emplace(threads(), *cores_);
    for (const Wanted& member : wanted_) times_.emplace_back(static_cast<size_t>(member.workers));
}

void LocalGroup::start(int member, Run& run, StopWord& stop) {
    finish(member);
    const auto index = static_cast<size_t>(member);
    ENSURE(ready_ == 0 || stop_ == &stop, "a run has one stop word");
    runs_[index] = &run;
    started_[index] = begun_ + 1;
    stop_ = &stop;
    if (++ready_ < members()) return;
    ready_ = 0;
    ++begun_;
    if (stop.stopped()) {
        ended_ = begun_;
        return;
    }
    for (const Run* other : runs_) ENSURE(other->meetings() == run.meetings(), "the members go in step");
    run_clock_.restart();
    pool_->start(&LocalGroup::run_thread, this);
}

void LocalGroup::finish(int member) {
    const uint64_t wanted = started_[static_cast<size_t>(member)];
    if (wanted <= ended_) return;
    ENSURE(wanted <= begun_, "a run is waited for when every member has started it");
    end_run();
}

void LocalGroup::end_run() {
    if (ended_ == begun_) return;
    pool_->finish();
    ended_ = begun_;
    run_clock_.add_to(run_seconds_);
    if (run_clock_.is_on()) ++timed_runs_;
}

void LocalGroup::run_thread(void* group, int thread) { static_cast<LocalGroup*>(group)->work(thread); }

// Members are taken in order, so that workers who wait for each other inside a member's stretch are all in it
// or on their way to it.
void LocalGroup::work(int thread) {
    const std::span<const Role> mine = roles(thread);
    Run& first = *runs_[static_cast<size_t>(mine.front().member)];
    const int meetings = first.meetings();
    for (int stretch = 0;; ++stretch) {
        for (const Role& role : mine) {
            WorkerTimes& spent = times(role.member, role.worker);
            spent.clock.restart();
            runs_[static_cast<size_t>(role.member)]->work(stretch, role.worker);
            spent.computed();
        }
        if (stretch == meetings || !meeting_->wait(stop_->word())) return;
        if (!first.is_dealt(stretch)) continue;
        work_slice(stretch, thread);
        if (!meeting_->wait(stop_->word())) return;
    }
}

// For all members: each of the thread's has spent the time on it.
void LocalGroup::work_slice(int meeting, int thread) {
    const std::span<const Role> mine = roles(thread);
    for (const Role& role : mine) times(role.member, role.worker).clock.restart();
    runs_[static_cast<size_t>(mine.front().member)]->work_slice(meeting, thread, threads());
    for (const Role& role : mine) times(role.member, role.worker).reduced();
}

void LocalGroup::time_runs(bool on) {
    end_run();
    run_clock_.switch_to(on);
    for (std::vector<WorkerTimes>& workers : times_) {
        for (WorkerTimes& worker : workers) {
            if (on) worker = {};
            worker.clock.switch_to(on);
        }
    }
    if (!on) return;
    run_seconds_ = 0;
    timed_runs_ = 0;
}

device::RunTimes LocalGroup::run_times(int member) const {
    device::RunTimes mean{.runs = timed_runs_};
    const std::vector<WorkerTimes>& workers = times_[static_cast<size_t>(member)];
    for (const WorkerTimes& worker : workers) {
        mean.compute += worker.compute / static_cast<double>(workers.size());
        mean.reduce += worker.reduce / static_cast<double>(workers.size());
    }
    mean.wait = run_seconds_ - mean.compute - mean.reduce;
    return mean;
}

struct LocalGroup::Job {
    const LocalGroup& group;
    int member;
    WorkerPool::Job job;
    void* context;
};

void LocalGroup::run_job(int member, WorkerPool::Job job, void* context) {
    end_run();
    Job mine{*this, member, job, context};
    pool_->start(&LocalGroup::job_thread, &mine);
    pool_->finish();
}

void LocalGroup::job_thread(void* context, int thread) {
    const Job& job = *static_cast<Job*>(context);
    for (const Role& role : job.group.roles(thread))
        if (role.member == job.member) job.job(job.context, role.worker);
}

std::unique_ptr<LocalGroup> group_of_one(Cores& cores, Wanted wanted) {
    auto group = std::make_unique<LocalGroup>(1);
    group->join(0, cores, std::move(wanted));
    group->open();
    return group;
}

}  // namespace plait::collectives::local
