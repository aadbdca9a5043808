#include "plait/base/cpu_mask.h"

#include <sched.h>

#include "plait/base/ensure.h"

namespace plait {

std::optional<CpuMask> CpuMask::of_this_thread() {
    CpuMask mask;
    const int error =
        pthread_getaffinity_np(pthread_self(), sizeof mask.words_, reinterpret_cast<cpu_set_t*>(mask.words_));
    return error == 0 ? std::optional(mask) : std::nullopt;
}

CpuMask CpuMask::only(int cpu) {
    ENSURE(cpu >= 0 && cpu < kMaxCpus, "core number out of range");
    CpuMask mask;
    mask.words_[cpu / kBitsPerWord] = 1UL << (cpu % kBitsPerWord);
    return mask;
}

bool CpuMask::apply_to(pthread_t thread) const {
    return pthread_setaffinity_np(thread, sizeof words_, reinterpret_cast<const cpu_set_t*>(words_)) == 0;
}

}  // namespace plait
