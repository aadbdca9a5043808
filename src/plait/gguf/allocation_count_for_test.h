#pragma once

#include <cstddef>

namespace plait::gguf::test {

// Bytes this thread has asked of operator new so far, in a program that links allocation_count_for_test.cpp.
size_t allocated_bytes();

}  // namespace plait::gguf::test
