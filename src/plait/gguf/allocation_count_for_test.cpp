#include "plait/gguf/allocation_count_for_test.h"

#include <cstdlib>
#include <new>

namespace {

thread_local size_t allocated = 0;

}  // namespace

namespace plait::gguf::test {

size_t allocated_bytes() { return allocated; }

}  // namespace plait::gguf::test

// Replaces the program's operator new.
void* operator new(size_t bytes) {
    allocated += bytes;
    if (void* memory = std::malloc(bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
