#include "plait/base/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plait/base/log.h"
#include "plait/base/status_line.h"

namespace plait {
namespace {

using namespace std::chrono_literals;

constexpr Progress::Clock::duration kPatience = 1s;
constexpr Progress::Clock::duration kBarInterval = 100ms;
constexpr Progress::Clock::duration kLineInterval = 10s;

std::string time_left(double fraction, std::chrono::duration<double> elapsed) {
    constexpr double kEnoughToJudge = 0.05;
    if (fraction < kEnoughToJudge || fraction >= 1) return "";
    const auto seconds = static_cast<long>(std::ceil(elapsed.count() * (1 - fraction) / fraction));
    return seconds < 60 ? fmt::format(" {} s left", seconds)
                        : fmt::format(" {} min left", (seconds + 59) / 60);
}

// With its brackets; nothing if there is no room for a bar worth looking at.
std::string bar(double fraction, int width) {
    constexpr int kNarrowest = 10, kWidest = 40;
    const int cells = std::min(width, kWidest) - 2;
    if (cells + 2 < kNarrowest) return "";
    const int full = static_cast<int>(fraction * cells);
    return fmt::format("[{}{}] ", std::string(static_cast<size_t>(full), '#'),
                       std::string(static_cast<size_t>(cells - full), ' '));
}

}  // namespace

std::string progress_text(std::string_view label, uint64_t done, uint64_t total,
                          std::chrono::duration<double> elapsed, int columns) {
    const double fraction =
        total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const std::string tail =
        fmt::format("{:3d}%{}", static_cast<int>(100 * fraction), time_left(fraction, elapsed));
    const int taken = static_cast<int>(label.size() + tail.size()) + 2;
    std::string text = fmt::format("{} {}{}", label, bar(fraction, columns - taken), tail);
    text.resize(std::min(text.size(), static_cast<size_t>(std::max(columns, 0))));
    return text;
}

Progress::Progress(std::string_view label)
    : label_(label),
      terminal_(stderr_is_terminal() && stderr_shows(LogLevel::info)),
      silent_(!log_enabled(LogLevel::info)),
      began_(Clock::now()),
      next_draw_((terminal_ ? kPatience : kLineInterval).count()) {}

Progress::~Progress() {
    std::lock_guard lock(drawing_);
    if (bar_shown_) StderrTurn erase;
}

void Progress::update(uint64_t done, uint64_t total) {
    if (silent_) return;
    const auto elapsed = Clock::now() - began_;
    const auto due = [&] { return elapsed.count() >= next_draw_.load(std::memory_order_relaxed); };
    if (!due()) return;
    std::unique_lock lock(drawing_, std::try_to_lock);
    if (!lock.owns_lock() || !due()) return;
    next_draw_.store((elapsed + (terminal_ ? kBarInterval : kLineInterval)).count(),
                     std::memory_order_relaxed);
    draw(done, total, elapsed);
}

void Progress::draw(uint64_t done, uint64_t total, Clock::duration elapsed) {
    if (!terminal_) {
        log_info(progress_text(label_, done, total, elapsed, 80));
        return;
    }
    // The last column stays free: writing there makes some terminals wrap.
    const std::string text = progress_text(label_, done, total, elapsed, stderr_columns() - 1);
    StderrTurn().show_status(text);
    bar_shown_ = true;
}

}  // namespace plait
