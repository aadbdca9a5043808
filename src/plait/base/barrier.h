#pragma once

#include <atomic>
#include <cstdint>

#include "plait/base/epoch.h"

namespace plait {

// The meeting point of a fixed number of workers inside one job of a WorkerPool (or of several pools that run
// the same step). Everything a worker wrote before wait() is visible to every worker after it. Reusable at
// once: a worker may enter the next round while others are still leaving this one.
//
// A worker that has met an error still arrives (it sets the stop word first), so no round can hang on it.
//
// Protocol: each worker reads the epoch, then counts itself in. The last one to arrive samples `stop`, stores
// the answer, sets the count back to zero and advances the epoch; the others wait for the epoch and read the
// answer. The answer is a plain bool: the next last worker writes it only after every worker has arrived
// again, that is, has read it. Waiting spins or sleeps as Epoch does.
class Barrier {
  public:
    // workers >= 1; `cores` must outlive the barrier.
    Barrier(int workers, const Cores& cores);

    Barrier(const Barrier&) = delete;
    Barrier& operator=(const Barrier&) = delete;

    // Returns when all workers have called it in this round. The result is the same for all of them: true =
    // go on, false = `stop` was not zero when the last one arrived, leave the job now. All workers of a round
    // pass the same word, usually StopWord::word().
    [[nodiscard]] bool wait(const std::atomic<uint32_t>& stop);

    int workers() const { return static_cast<int>(workers_); }

  private:
    const uint32_t workers_;
    const Cores& cores_;
    alignas(64) std::atomic<uint32_t> arrived_{0};
    // The waiters watch this line only; the answer travels in it.
    alignas(64) Epoch released_;
    bool go_on_ = true;
};

}  // namespace plait
