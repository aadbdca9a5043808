#include "plait/base/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "plait/base/ensure.h"

// The replaced operators stand in a file of their own: where the compiler could inline one of a pair without
// the other it would take them for mismatched. All forms are replaced, since a sanitizer's own operator new[]
// does not call ours.

namespace plait {
namespace {

// Allocations still to let through; the one that takes it from 0 to -1 is refused. Below zero nothing is.
constexpr long kNeverFails = std::numeric_limits<long>::min();

std::atomic<long> allocations{0};
std::atomic<long> left_in_process{kNeverFails};
thread_local long left_in_thread = kNeverFails;
thread_local size_t bytes_of_thread = 0;

bool refused_by_process() {
    if (left_in_process.load(std::memory_order_relaxed) < 0) return false;
    return left_in_process.fetch_sub(1, std::memory_order_relaxed) == 0;
}

bool refused_by_thread() { return left_in_thread >= 0 && left_in_thread-- == 0; }

// Null when the allocation is to fail or the system has no memory.
void* allocate(size_t bytes, size_t alignment) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    bytes_of_thread += bytes;
    if (refused_by_thread() || refused_by_process()) return nullptr;
    void* memory = nullptr;
    return posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) == 0 ? memory : nullptr;
}

void* allocate_or_throw(size_t bytes, size_t alignment) {
    if (void* memory = allocate(bytes, alignment)) return memory;
    throw std::bad_alloc();
}

}  // namespace

long allocation_count() { return allocations.load(std::memory_order_relaxed); }

size_t allocated_bytes_of_thread() { return bytes_of_thread; }

AllocationFailure::AllocationFailure(long successes, AllocationScope scope) : scope_(scope) {
    ENSURE(successes >= 0, "allocations to let through before one fails");
    if (scope == AllocationScope::process) {
        ENSURE(left_in_process.exchange(successes) == kNeverFails,
               "one AllocationFailure for the process at a time");
    } else {
        ENSURE(left_in_thread == kNeverFails, "one AllocationFailure for a thread at a time");
        left_in_thread = successes;
    }
}

AllocationFailure::~AllocationFailure() {
    if (scope_ == AllocationScope::process)
        left_in_process.store(kNeverFails);
    else
        left_in_thread = kNeverFails;
}

bool AllocationFailure::happened() const {
    return (scope_ == AllocationScope::process ? left_in_process.load() : left_in_thread) < 0;
}

}  // namespace plait

namespace {

constexpr size_t kDefaultAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

using std::align_val_t;
using std::nothrow_t;

void* operator new(size_t bytes) { return plait::allocate_or_throw(bytes, kDefaultAlignment); }
void* operator new[](size_t bytes) { return plait::allocate_or_throw(bytes, kDefaultAlignment); }
void* operator new(size_t bytes, align_val_t alignment) {
    return plait::allocate_or_throw(bytes, size_t(alignment));
}
void* operator new[](size_t bytes, align_val_t alignment) {
    return plait::allocate_or_throw(bytes, size_t(alignment));
}

void* operator new(size_t bytes, const nothrow_t&) noexcept {
    return plait::allocate(bytes, kDefaultAlignment);
}
void* operator new[](size_t bytes, const nothrow_t&) noexcept {
    return plait::allocate(bytes, kDefaultAlignment);
}
void* operator new(size_t bytes, align_val_t alignment, const nothrow_t&) noexcept {
    return plait::allocate(bytes, size_t(alignment));
}
void* operator new[](size_t bytes, align_val_t alignment, const nothrow_t&) noexcept {
    return plait::allocate(bytes, size_t(alignment));
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, align_val_t, const nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, align_val_t, const nothrow_t&) noexcept { std::free(memory); }
