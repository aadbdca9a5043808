#pragma once

#include <chrono>

namespace plait {

// Tells where the time goes between two places of a thread's way, where somebody wants to know: switched off,
// which it is at first, it reads no clock and adds nothing. One thread at a time.
class LapClock {
  public:
    void switch_to(bool on) { on_ = on; }
    bool is_on() const { return on_; }

    // A lap begins.
    void restart() {
        if (on_) begun_ = Clock::now();
    }
    // Adds the lap to `seconds`, and begins the next one.
    void add_to(double& seconds) {
        if (!on_) return;
        const Clock::time_point now = Clock::now();
        seconds += std::chrono::duration<double>(now - begun_).count();
        begun_ = now;
    }

  private:
    using Clock = std::chrono::steady_clock;
    bool on_ = false;
    Clock::time_point begun_;
};

}  // namespace plait
