#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace plait {

// The poison word that every wait inside a step watches. A step runs while the word is kRunning; the first
// cancel() or fail() changes it, later ones are ignored, and it stays so until reset(). Every function but
// reset() may be called from any thread at any time; cancel() also from a signal handler.
class StopWord {
  public:
    enum State : uint32_t {
        kRunning = 0,    // nothing has happened
        kCancelled = 1,  // somebody asked for the end: not an error of the step
        kFailed = 2,     // a worker or a device met an error; message() says which
    };

    StopWord() = default;
    StopWord(const StopWord&) = delete;
    StopWord& operator=(const StopWord&) = delete;

    // Asks all workers to leave at their next meeting point. Async-signal-safe and lock-free.
    void cancel() noexcept { set(kCancelled); }

    // Records the sentence of an error (device, op and step included) and stops everybody. The first caller's
    // sentence is kept.
    void fail(std::string message) {
        std::lock_guard lock(mutex_);
        if (state() != kRunning) return;
        message_ = std::move(message);
        if (!set(kFailed)) message_.clear();  // a cancel() came between
    }

    State state() const noexcept { return static_cast<State>(word_.load(std::memory_order_acquire)); }

    bool stopped() const noexcept { return state() != kRunning; }

    // What fail() was given; "cancelled" after cancel(); empty while running.
    std::string message() const {
        std::lock_guard lock(mutex_);
        return state() == kCancelled ? "cancelled" : message_;
    }

    // Makes the word fit for the next step. Only while no worker watches it.
    void reset() {
        std::lock_guard lock(mutex_);
        message_.clear();
        word_.store(kRunning, std::memory_order_release);
    }

    // The word itself, for waits that watch it: zero means go on.
    const std::atomic<uint32_t>& word() const noexcept { return word_; }

  private:
    bool set(State wanted) noexcept {
        uint32_t expected = kRunning;
        return word_.compare_exchange_strong(expected, wanted, std::memory_order_acq_rel);
    }

    static_assert(std::atomic<uint32_t>::is_always_lock_free, "cancel() is called from signal handlers");

    std::atomic<uint32_t> word_{kRunning};
    mutable std::mutex mutex_;
    std::string message_;
};

}  // namespace plait
