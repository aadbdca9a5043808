#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace plait {

// Shows on stderr how far a long piece of work is. Work that ends within a second shows nothing. After that a
// terminal gets a bar that is redrawn in place and erased at the end; anything else (a pipe, a file) gets a
// line every ten seconds. Silent when the log does not show info. update() is cheap enough to be called once
// per block of work, from any thread; whoever finds another thread drawing goes on at once.
//
//     Progress progress("loading weights");
//     for (...) progress.update(bytes_done, bytes_total);
class Progress {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Progress(std::string_view label);

    // Erases the bar.
    ~Progress();

    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // `done` of `total` in any unit; only their ratio is shown. done > total counts as total.
    void update(uint64_t done, uint64_t total);

  private:
    void draw(uint64_t done, uint64_t total, Clock::duration elapsed);

    const std::string label_;
    const bool terminal_;
    const bool silent_;
    const Clock::time_point began_;
    std::atomic<Clock::duration::rep> next_draw_;  // since began_
    std::mutex drawing_;
    bool bar_shown_ = false;  // guarded by drawing_
};

// "loading weights [#####     ]  50% 12 s left", at most `columns` wide (the bar shrinks, then goes).
// `elapsed` is what the estimate is made from; there is none before 5 %.
std::string progress_text(std::string_view label, uint64_t done, uint64_t total,
                          std::chrono::duration<double> elapsed, int columns);

}  // namespace plait
