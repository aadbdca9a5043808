#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plait/base/barrier.h"
#include "plait/base/cancel.h"
#include "plait/base/lap_clock.h"
#include "plait/base/worker_pool.h"
#include "plait/collectives/local/seats.h"
#include "plait/device/communicator.h"
#include "plait/device/device.h"

namespace plait::collectives::local {

// What a member brings to a meeting, and what it takes away.
struct Part {
    const float* term = nullptr;  // nullptr: nothing
    // What is made there: the meeting's own result, then what each op behind it makes of that. All members
    // make the same values; those that one does not want it has no use for afterwards.
    struct Result {
        float* values = nullptr;
        bool wanted = true;
    };
    std::vector<Result> results;
};

// Where a worker's time goes, seconds. Written by the thread that does its work.
struct alignas(64) WorkerTimes {
    LapClock clock;
    double compute = 0;
    double reduce = 0;

    void computed() { clock.add_to(compute); }
    void reduced() { clock.add_to(reduce); }
};

// A member's share of one run: stretches of its own work, with a meeting of all members between two of them.
// Its functions do not throw: an error goes to the run's stop word.
class Run {
  public:
    virtual ~Run() = default;

    // As many on every member.
    virtual int meetings() const = 0;
    virtual const Part& part(int meeting) const = 0;

    // Everything behind meeting `stretch` - 1 and before meeting `stretch`, as worker `worker`. What other
    // members brought to the former may be read, until the latter. The worker's lap, from its begin or from
    // where it was counted last, is computing.
    virtual void work(int stretch, int worker) = 0;

    // Whether a meeting's work is dealt to all threads of the group, each doing its slice for all members;
    // the same answer on all. Otherwise every member does what it needs in its next stretch.
    virtual bool is_dealt(int meeting) const = 0;
    // Slice `slice` of `slices`. What all brought may be read and what all want be written.
    virtual void work_slice(int meeting, int slice, int slices) = 0;
};

// The threads of members that run their programs together. A thread does the work of one or more workers
// (seats.h), member by member, up to the next meeting; there all threads wait for each other, once, or a
// second time behind work that was dealt to all. A device on its own is a group of one, which never meets.
//
// A run begins when every member has started its share. Members are used from one thread; that one joins in
// as a worker when it waits for the end. After an error or a cancel all leave at the same meeting.
class LocalGroup : public device::Communicator {
  public:
    explicit LocalGroup(int members);

    device::CommunicatorKind kind() const override { return device::CommunicatorKind::local; }
    int members() const override { return static_cast<int>(wanted_.size()); }

    // What a member needs; `cores` outlives the group and is the same for all. Before open().
    void join(int member, Cores& cores, Wanted wanted);
    // Starts the threads, when all have joined, unless they run already. Throws Error as WorkerPool does.
    void open();

    // Has a member ready for a run, and begins it with the last member, unless `stop` is set then. Ends the
    // member's former run first.
    void start(int member, Run& run, StopWord& stop);
    // Returns when the run that the member started, if any, is done. Every member must have started it.
    void finish(int member);
    // Runs `job(context, worker)` on the member's workers, with no run under way.
    void run_job(int member, WorkerPool::Job job, void* context);

    // Only inside a run.
    const Part& part(int member, int meeting) const {
        return runs_[static_cast<size_t>(member)]->part(meeting);
    }

    // As Device::time_runs, for all members; open.
    void time_runs(bool on);
    device::RunTimes run_times(int member) const;
    WorkerTimes& times(int member, int worker) {
        return times_[static_cast<size_t>(member)][static_cast<size_t>(worker)];
    }

    Cores& cores() const { return *cores_; }
    int threads() const { return static_cast<int>(seats_.roles.size()); }
    std::span<const Role> roles(int thread) const { return seats_.roles[static_cast<size_t>(thread)]; }
    int workers(int member) const { return wanted_[static_cast<size_t>(member)].workers; }

  private:
    struct Job;

    static void run_thread(void* group, int thread);
    static void job_thread(void* job, int thread);
    void work(int thread);
    void work_slice(int meeting, int thread);
    void end_run();

    std::vector<Wanted> wanted_;
    Cores* cores_ = nullptr;
    Seats seats_;
    std::unique_ptr<WorkerPool> pool_;
    std::optional<Barrier> meeting_;

    std::vector<Run*> runs_;         // by member
    std::vector<uint64_t> started_;  // by member: the number of the last run it started, from 1
    uint64_t begun_ = 0;             // runs
    uint64_t ended_ = 0;
    int ready_ = 0;  // members that have started the next one
    StopWord* stop_ = nullptr;

    std::vector<std::vector<WorkerTimes>> times_;  // by member and worker
    LapClock run_clock_;
    double run_seconds_ = 0;
    int64_t timed_runs_ = 0;
};

// For a device on its own; open.
std::unique_ptr<LocalGroup> group_of_one(Cores& cores, Wanted wanted);

}  // namespace plait::collectives::local
