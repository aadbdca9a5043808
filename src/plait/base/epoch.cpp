#include "plait/base/epoch.h"

#include <chrono>

#include "plait/base/futex.h"

namespace plait {
namespace {

// Tells the core that this is a spin loop: it yields to its hyperthread and leaves the loop without a
// pipeline flush.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");  // `yield` returns at once on most Arm cores; `isb` waits some tens of cycles
#endif
}

// A pause takes 10 to 140 cycles depending on the core, so this is between one and some microseconds: rare
// enough to make reading the clock cheap, often enough to keep the budget.
constexpr int kPausesPerClock = 64;

}  // namespace

// Why no wake-up is lost: a sleeper counts itself in and then looks at the value; advance() changes the value
// and then looks at the count. Both pairs are sequentially consistent, so at least one of the two sees the
// other: either the sleeper sees the new value, or advance() sees the sleeper and wakes it. A change between
// the sleeper's look and its sleep makes the kernel refuse the sleep.
void Epoch::advance() {
    value_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake_all(value_);
}

void Epoch::wait_past(uint32_t seen, const Cores& cores) {
    if (now() != seen) return;
    if (!spin_past(seen, cores)) sleep_past(seen);
}

bool Epoch::spin_past(uint32_t seen, const Cores& cores) const {
    using Clock = std::chrono::steady_clock;
    if (!cores.spin_allowed()) return false;
    const auto end = Clock::now() + std::chrono::microseconds(kSpinMicroseconds);
    do {
        for (int i = 0; i < kPausesPerClock; ++i) {
            if (now() != seen) return true;
            pause_core();
        }
    } while (cores.spin_allowed() && Clock::now() < end);
    return false;
}

void Epoch::sleep_past(uint32_t seen) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (value_.load(std::memory_order_seq_cst) == seen) futex_wait(value_, seen);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace plait
