#include "plait/base/epoch.h"

#include <algorithm>
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
constexpr int kLooksPerClock = 64;

// After so many spins in vain the full time is tried again. Without that, workers that sleep at every meeting
// would never find out that the cores are free once more: each comes late by the time its waking takes, so
// that the next one sleeps too.
constexpr uint32_t kVainSpinsPerRetry = 128;

int spin_budget_us(uint32_t vain_spins) {
    const uint32_t halvings = std::min(vain_spins % kVainSpinsPerRetry, 31u);
    return Epoch::kSpinMicroseconds >> halvings;
}

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

bool Epoch::spin_past(uint32_t seen, const Cores& cores) {
    if (!cores.spin_allowed()) return false;
    const uint32_t vain = vain_spins_.load(std::memory_order_relaxed);
    const bool moved = look_for(spin_budget_us(vain), seen, cores);
    const uint32_t next = moved ? 0 : vain + 1;
    // Written only when it changes: the line is shared with those who wait for the value.
    if (next != vain) vain_spins_.store(next, std::memory_order_relaxed);
    return moved;
}

bool Epoch::look_for(int microseconds, uint32_t seen, const Cores& cores) const {
    using Clock = std::chrono::steady_clock;
    // Most waits inside a step end here, before the clock is read.
    if (look_briefly(seen)) return true;
    const auto end = Clock::now() + std::chrono::microseconds(microseconds);
    while (cores.spin_allowed() && Clock::now() < end)
        if (look_briefly(seen)) return true;
    return false;
}

bool Epoch::look_briefly(uint32_t seen) const {
    for (int i = 0; i < kLooksPerClock; ++i) {
        if (now() != seen) return true;
        pause_core();
    }
    return false;
}

void Epoch::sleep_past(uint32_t seen) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (value_.load(std::memory_order_seq_cst) == seen) futex_wait(value_, seen);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace plait
