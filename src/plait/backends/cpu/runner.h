#pragma once

#include <span>
#include <string>

#include "plait/backends/cpu/program.h"
#include "plait/base/barrier.h"
#include "plait/base/cancel.h"
#include "plait/collectives/local/group.h"

namespace plait::backends::cpu {

// Runs segments on a device's workers, one at a time: the threads of a group of which the device is a member,
// be it the only one. The threads start at once, or with the last member; the calling thread joins them in
// finish(). Used from one thread at a time; allocates nothing.
class Runner : public collectives::local::Run {
  public:
    // The group is open, and outlives the runner.
    Runner(collectives::local::LocalGroup& group, int member, std::string device_name);

    // Starts a segment. Finishes the one before first.
    void start(CpuBoundProgram& program, int segment, StopWord& stop);
    // Lends the calling thread until the started segment, if any, is done.
    void finish() { group_.finish(member_); }

    // Runs `job(context, worker)` on all workers and returns when they are done.
    void run_job(WorkerPool::Job job, void* context) { group_.run_job(member_, job, context); }

    void time_runs(bool on) { group_.time_runs(on); }
    device::RunTimes run_times() const { return group_.run_times(member_); }

    int workers() const { return barrier_.workers(); }
    // Whether segments run together with those of other members.
    bool has_company() const { return group_.members() > 1; }

    // What the group has it do in a run.
    int meetings() const override;
    const collectives::local::Part& part(int meeting) const override;
    void work(int stretch, int worker) override;
    bool is_dealt(int meeting) const override;
    void work_slice(int meeting, int slice, int slices) override;

  private:
    BoundStep& meeting_step(int meeting) const;
    bool wait_for_own(int worker);
    void run_step(BoundStep& step, int worker, bool few);
    ir::Range take(BoundStep& step, int64_t items) const;
    template <class Work>
    void try_to(const BoundStep& step, const Work& work);

    std::string device_name_;
    collectives::local::LocalGroup& group_;
    const int member_;
    Barrier barrier_;  // of the device's own workers
    CpuBoundProgram* program_ = nullptr;
    int segment_ = 0;
    StopWord* stop_ = nullptr;
};

}  // namespace plait::backends::cpu
