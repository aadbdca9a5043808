#pragma once

#include <span>

#include "plait/backends/cpu/program.h"
#include "plait/base/barrier.h"
#include "plait/base/cancel.h"
#include "plait/base/worker_pool.h"

namespace plait::backends::cpu {

// Runs segments on a device's worker pool, one at a time. The workers start at once; the calling thread joins
// them in finish(). Used from one thread at a time; allocates nothing.
class Runner {
  public:
    Runner(Cores& cores, int workers, std::span<const int> pins, std::string device_name);

    // Starts a segment. Finishes the one before first.
    void start(CpuBoundProgram& program, int segment, StopWord& stop);
    // Lends the calling thread until the started segment, if any, is done.
    void finish();

    // Runs `job(context, worker)` on all workers and returns when they are done.
    void run_job(WorkerPool::Job job, void* context);

    int workers() const { return pool_.workers(); }

  private:
    static void work(void* context, int worker);
    void run_steps(int worker);
    ir::Range take(BoundStep& step, int64_t items) const;
    void fail(const BoundStep& step, const char* what);

    std::string device_name_;
    WorkerPool pool_;
    Barrier barrier_;
    CpuBoundProgram* program_ = nullptr;
    int segment_ = 0;
    StopWord* stop_ = nullptr;
    bool busy_ = false;
};

}  // namespace plait::backends::cpu
