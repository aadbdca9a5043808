#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "plait/base/cores.h"
#include "plait/base/epoch.h"

namespace plait {

// The compute threads of one CPU device. A pool of n workers owns n-1 threads; worker 0 is whatever thread
// calls finish(). A job is run by all workers at once and divides its work by worker number; workers meet
// inside a job with a Barrier. Between jobs the threads spin briefly (see Epoch), then sleep: an idle pool
// uses no processor time.
//
//     pool.start(job, &context);   // the threads begin
//     ...                          // the caller may start other pools or prepare something
//     pool.finish();               // the caller joins in as worker 0
//
// start() and finish() alternate and come from one thread at a time; they allocate nothing. What the caller
// wrote before start() is visible to the job, and what the job wrote is visible after finish().
class WorkerPool {
  public:
    // Must not throw: a job keeps its error in a StopWord. An exception that leaves it stops the process.
    using Job = void (*)(void* context, int worker);

    // Starts the threads ("plait-w1", ...), with all signals blocked so that they reach the caller's threads.
    // workers
    // >= 1; `cores` must outlive the pool. With `pins`, worker k runs only on core pins[k % pins.size()];
    // worker 0, the caller, is moved there during finish() and gets its own affinity back afterwards. Throws
    // Error when the system refuses a thread, or a pin is not among the cores of `cores`.
    WorkerPool(Cores& cores, int workers, std::span<const int> pins = {});

    // Ends the threads. Not between start() and finish().
    ~WorkerPool();

    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // Hands the job to the threads and returns at once.
    void start(Job job, void* context);

    // Runs the job as worker 0 and returns when all workers have finished it.
    void finish();

    int workers() const { return workers_; }
    Cores& cores() const { return cores_; }

  private:
    void check_pins() const;
    void start_threads();
    void start_thread(int worker);
    void stop_threads();
    int pin_of(int worker) const { return pins_[static_cast<size_t>(worker) % pins_.size()]; }
    void thread_main(int worker);
    void run_job(int worker) noexcept;
    void run_as_worker_zero();

    Cores& cores_;
    const int workers_;
    const std::vector<int> pins_;
    const Cores::Lease lease_;

    Job job_ = nullptr;  // null with an advanced epoch: the threads end
    void* context_ = nullptr;
    bool started_ = false;
    uint32_t done_before_ = 0;  // what done_ showed when the current job started

    alignas(64) Epoch begun_;
    alignas(64) std::atomic<int> busy_{0};  // threads that have not finished the current job
    alignas(64) Epoch done_;

    std::vector<std::thread> threads_;
};

}  // namespace plait
