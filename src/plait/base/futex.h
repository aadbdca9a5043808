#pragma once

#include <atomic>
#include <cstdint>

namespace plait {

// Sleeping on a 32-bit word until another thread of this process changes it: Linux's futex system call,
// private form (futex(2)). std::atomic::wait is not used because GCC's version spins with its own policy
// before it sleeps and hides its waiters in a shared table. Both functions allocate nothing, and any thread
// may call them.

// Sleeps while `word` holds `expected`. May also return early (a signal, a stray wake): the caller looks
// again.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected);

// Wakes every thread that sleeps on `word`.
void futex_wake_all(const std::atomic<uint32_t>& word);

}  // namespace plait
