#pragma once

#include <mutex>
#include <vector>

#include "plait/base/binder.h"

namespace plait {

// For tests: binds nothing and keeps what it was asked for.
class RecordingBinder : public Binder {
  public:
    struct Thread {
        pthread_t thread;
        int cpu;
    };
    struct Memory {
        void* begin;
        size_t bytes;
        int node;
    };

    explicit RecordingBinder(bool refuses = false) : refuses_(refuses) {}

    bool bind_thread(pthread_t thread, int cpu) override {
        std::lock_guard lock(mutex_);
        threads_.push_back({thread, cpu});
        return !refuses_;
    }
    bool bind_memory(void* memory, size_t bytes, int node) override {
        std::lock_guard lock(mutex_);
        memory_.push_back({memory, bytes, node});
        return !refuses_;
    }

    std::vector<Thread> threads() const {
        std::lock_guard lock(mutex_);
        return threads_;
    }
    std::vector<Memory> memory() const {
        std::lock_guard lock(mutex_);
        return memory_;
    }

  private:
    const bool refuses_;
    mutable std::mutex mutex_;  // guards what follows
    std::vector<Thread> threads_;
    std::vector<Memory> memory_;
};

}  // namespace plait
