#include "plait/base/worker_pool.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>

#include "plait/base/cpu_mask.h"
#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait {
namespace {

// Blocks every signal in the calling thread for as long as it lives; threads started meanwhile inherit that.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

// Confines the calling thread to one core for as long as it lives.
class PinnedHere {
  public:
    PinnedHere(Cores& cores, int cpu) : before_(CpuMask::of_this_thread()) {
        if (before_) cores.bind_thread(pthread_self(), cpu);
    }
    ~PinnedHere() {
        if (before_) (void)before_->apply_to_this_thread();
    }
    PinnedHere(const PinnedHere&) = delete;
    PinnedHere& operator=(const PinnedHere&) = delete;

  private:
    std::optional<CpuMask> before_;
};

}  // namespace

WorkerPool::WorkerPool(Cores& cores, int workers, std::span<const int> pins)
    : cores_(cores), workers_(workers), pins_(pins.begin(), pins.end()), lease_(cores.lease(workers, pins)) {
    check_pins();
    start_threads();
}

WorkerPool::~WorkerPool() {
    ENSURE(!started_, "a pool ends while its job runs");
    stop_threads();
}

void WorkerPool::start(Job job, void* context) {
    ENSURE(!started_, "start() without finish()");
    ENSURE(job != nullptr, "a pool needs a job");
    started_ = true;
    job_ = job;
    context_ = context;
    if (threads_.empty()) return;
    done_before_ = done_.now();
    busy_.store(workers_ - 1, std::memory_order_relaxed);
    begun_.advance();
}

void WorkerPool::finish() {
    ENSURE(started_, "finish() without start()");
    run_as_worker_zero();
    if (!threads_.empty()) done_.wait_past(done_before_, cores_);
    started_ = false;
}

void WorkerPool::run_as_worker_zero() {
    if (pins_.empty()) return run_job(0);
    PinnedHere pinned(cores_, pin_of(0));
    run_job(0);
}

// noexcept: an exception that leaves a job ends the process here, at the job, on worker 0 too.
void WorkerPool::run_job(int worker) noexcept { job_(context_, worker); }

void WorkerPool::thread_main(int worker) {
    // Counted, not read from the epoch: the first job may begin before this thread does.
    for (uint32_t jobs_seen = 0;; ++jobs_seen) {
        begun_.wait_past(jobs_seen, cores_);
        if (job_ == nullptr) return;
        run_job(worker);
        if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.advance();
    }
}

void WorkerPool::check_pins() const {
    for (int pin : pins_) {
        const auto& usable = cores_.cpus();
        if (!std::binary_search(usable.begin(), usable.end(), pin))
            throw Error(fmt::format("worker pool: core {} is not one that this process may use", pin));
    }
}

void WorkerPool::start_threads() {
    SignalsBlocked blocked;
    try {
        threads_.reserve(static_cast<size_t>(workers_ - 1));
        for (int worker = 1; worker < workers_; ++worker) start_thread(worker);
    } catch (const std::system_error& error) {
        const size_t started = threads_.size();
        stop_threads();
        throw Error(fmt::format(
            "worker pool: the system started {} of {} threads and then refused: {}; ask for fewer", started,
            workers_ - 1, error.what()));
    } catch (...) {
        stop_threads();
        throw;
    }
}

void WorkerPool::start_thread(int worker) {
    const pthread_t thread = threads_.emplace_back([this, worker] { thread_main(worker); }).native_handle();
    pthread_setname_np(thread, fmt::format("plait-w{}", worker).c_str());
    if (!pins_.empty()) cores_.bind_thread(thread, pin_of(worker));
}

void WorkerPool::stop_threads() {
    job_ = nullptr;
    begun_.advance();
    for (std::thread& thread : threads_) thread.join();
}

}  // namespace plait
