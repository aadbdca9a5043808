#include "plait/base/barrier.h"

#include "plait/base/ensure.h"

namespace plait {

Barrier::Barrier(int workers, const Cores& cores) : workers_(static_cast<uint32_t>(workers)), cores_(cores) {
    ENSURE(workers >= 1, "a barrier needs a worker");
}

bool Barrier::wait(const std::atomic<uint32_t>& stop) {
    if (workers_ == 1) return stop.load(std::memory_order_acquire) == 0;
    const uint32_t round = released_.now();
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < workers_) {
        released_.wait_past(round, cores_);
        return go_on_;
    }
    const bool go_on = stop.load(std::memory_order_acquire) == 0;
    go_on_ = go_on;
    arrived_.store(0, std::memory_order_relaxed);
    released_.advance();
    return go_on;
}

}  // namespace plait
