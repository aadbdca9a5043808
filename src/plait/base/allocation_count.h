#pragma once

#include <cstddef>

// For tests only. A test binary that names plait_allocation_count in its TEST_DEPS has every global operator
// new replaced by one that counts and that can be told to fail. Memory that comes straight from malloc or
// mmap is neither counted nor refused. Callable from any thread.
namespace plait {

// How often operator new has been called so far, by all threads; refused calls count too.
long allocation_count();

// Bytes the calling thread has asked of operator new so far.
size_t allocated_bytes_of_thread();

// Whose allocations an AllocationFailure counts and refuses.
enum class AllocationScope {
    this_thread,  // those of the thread that made the AllocationFailure; others go on as ever
    process,      // those of all threads, for code that hands its work to threads of its own
};

// While it lives, lets `successes` allocations through, has the next one throw std::bad_alloc, and lets all
// later ones through again, so that the code under test can make its error message. A test of "whatever
// allocation fails" runs the code with 0, 1, 2 .. until happened() says that none was refused. At most one
// per scope (and per thread) at a time; to be destroyed by the thread that made it.
class AllocationFailure {
  public:
    explicit AllocationFailure(long successes, AllocationScope scope = AllocationScope::this_thread);
    ~AllocationFailure();
    AllocationFailure(const AllocationFailure&) = delete;
    AllocationFailure& operator=(const AllocationFailure&) = delete;

    bool happened() const;

  private:
    AllocationScope scope_;
};

}  // namespace plait
