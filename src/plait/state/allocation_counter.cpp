#include "plait/state/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> count = 0;
}

// In a file of their own: where the compiler could inline one of the pair without the other it would take
// them for mismatched.
void* operator new(size_t bytes) {
    ++count;
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace plait::state {
int64_t allocation_count() { return count; }
}  // namespace plait::state
