#pragma once

namespace plait {

// How often this test binary has called operator new so far, over all threads. For tests of code that must
// not allocate: allocation_count.cpp replaces the global operator and is linked into such test binaries only.
long allocation_count();

}  // namespace plait
