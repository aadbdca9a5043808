#pragma once

#include <pthread.h>

#include <cstddef>
#include <memory>

namespace plait {

// What ties threads to cores and memory to NUMA nodes. Any thread may call it.
class Binder {
  public:
    virtual ~Binder() = default;

    // Confines a thread of this process to one core. False when the system refuses.
    virtual bool bind_thread(pthread_t thread, int cpu) = 0;

    // Pages of this memory that nobody has touched yet will come from the node for as long as it has free
    // ones. `memory` is the beginning of a page. False when the system refuses.
    virtual bool bind_memory(void* memory, size_t bytes, int node) = 0;
};

// That of this machine. Reads its topology when memory is first to be bound.
std::unique_ptr<Binder> system_binder();

}  // namespace plait
