#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace plait::backends::sim {

// How far a queue has come, by the number of its items. Shared by the thread that fills the queue, the one
// that empties it, and whoever waits for a place in it; lives as long as any of them. Waiting sleeps. Any
// thread.
class Progress {
  public:
    void add_item();
    // Lets next() return false once everything is done.
    void close();

    // Waits for an item that is not done; false when there will be none.
    bool next();
    void finish_item();

    bool is_done(uint64_t mark) const;
    // Returns when `mark` items are done.
    void wait_done(uint64_t mark) const;

  private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    uint64_t added_ = 0;
    uint64_t done_ = 0;
    bool closed_ = false;
};

}  // namespace plait::backends::sim
