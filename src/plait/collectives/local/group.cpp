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
}

void LocalGroup::run_thread(void* group, int thread) { static_cast<LocalGroup*>(group)->work(thread); }

// Members are taken in order, so that workers who wait for each other inside a member's stretch are all in it
// or on their way to it.
void LocalGroup::work(int thread) {
    const std::span<const Role> mine = roles(thread);
    Run& first = *runs_[static_cast<size_t>(mine.front().member)];
    const int meetings = first.meetings();
    for (int stretch = 0;; ++stretch) {
        for (const Role& role : mine) runs_[static_cast<size_t>(role.member)]->work(stretch, role.worker);
        if (stretch == meetings || !meeting_->wait(stop_->word())) return;
        if (!first.is_dealt(stretch)) continue;
        first.work_slice(stretch, thread, threads());
        if (!meeting_->wait(stop_->word())) return;
    }
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
