#pragma once

#include <atomic>
#include <cstdint>

#include "plait/base/cores.h"

namespace plait {

// A counter that threads wait on: the one place where Plait's compute threads spin and sleep. Whoever
// advances it publishes everything written before; whoever sees it advance sees those writes. It wraps
// around, so a waiter must not fall 2^32 steps behind. Allocates nothing; any thread may call anything.
//
// Waiting spins for kSpinMicroseconds while Cores says that every live worker has a core to itself, then
// sleeps in the kernel. Advancing makes a system call only when somebody sleeps.
class Epoch {
  public:
    // Long enough to bridge the sampling of a token or a slow neighbour in a step, short enough that an
    // engine between requests is asleep at once. Spinning without end collapses when another process takes a
    // core.
    static constexpr int kSpinMicroseconds = 100;

    uint32_t now() const { return value_.load(std::memory_order_acquire); }

    // Moves one step on and wakes those who wait.
    void advance();

    // Returns once the counter has left `seen`, a value that now() gave earlier.
    void wait_past(uint32_t seen, const Cores& cores);

  private:
    bool spin_past(uint32_t seen, const Cores& cores) const;
    void sleep_past(uint32_t seen);

    std::atomic<uint32_t> value_{0};
    std::atomic<uint32_t> sleepers_{0};
};

}  // namespace plait
