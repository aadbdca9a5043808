#pragma once

#include <atomic>
#include <cstdint>

#include "plait/base/cores.h"

namespace plait {

// A counter that threads wait on: the one place where Plait's compute threads spin and sleep. Whoever
// advances it publishes everything written before; whoever sees it advance sees those writes. It wraps
// around, so a waiter must not fall 2^32 steps behind. Allocates nothing; any thread may call anything.
//
// While Cores says that every live worker has a core to itself, waiting spins for up to kSpinMicroseconds and
// then sleeps in the kernel; otherwise it sleeps at once. Each spin in vain halves the time of this epoch's
// next one until a spin pays again; now and then the full time is tried. That is for cores which other
// processes take and nobody can count: on 2 cores with 20 foreign threads a barrier of 2 workers took 380 us
// without it and takes 15 us with it. Advancing makes a system call only when somebody sleeps.
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
    bool spin_past(uint32_t seen, const Cores& cores);
    bool look_for(int microseconds, uint32_t seen, const Cores& cores) const;
    bool look_briefly(uint32_t seen) const;
    void sleep_past(uint32_t seen);

    std::atomic<uint32_t> value_{0};
    std::atomic<uint32_t> sleepers_{0};
    std::atomic<uint32_t> vain_spins_{0};  // in a row
};

}  // namespace plait
