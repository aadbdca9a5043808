#pragma once

#include <pthread.h>

#include <optional>

namespace plait {

// A set of logical cores as the scheduler's system calls take it. Large enough for any kernel (8192 cores),
// unlike glibc's cpu_set_t; lives on the stack.
class CpuMask {
  public:
    static constexpr int kMaxCpus = 8192;

    // The cores on which the calling thread may run; nothing if the system refuses to say.
    static std::optional<CpuMask> of_this_thread();

    static CpuMask only(int cpu);

    // Confines a thread of this process to these cores. False when the system refuses (none of them may be
    // used).
    [[nodiscard]] bool apply_to(pthread_t thread) const;
    [[nodiscard]] bool apply_to_this_thread() const { return apply_to(pthread_self()); }

  private:
    static constexpr int kBitsPerWord = 8 * sizeof(unsigned long);
    unsigned long words_[kMaxCpus / kBitsPerWord] = {};
};

}  // namespace plait
