#pragma once

#include <mutex>
#include <string_view>

namespace plait {

// The line at the bottom of the terminal that is drawn over and over. Messages and progress both write to
// stderr; who writes holds a StderrTurn, so that a message erases the line first and neither cuts through the
// other. Any thread.
class StderrTurn {
  public:
    // Waits for the turn and erases the status line, if one is shown.
    StderrTurn();

    StderrTurn(const StderrTurn&) = delete;
    StderrTurn& operator=(const StderrTurn&) = delete;

    // Writes `text` (no line end, no wider than the terminal) as the new status line.
    void show_status(std::string_view text);

  private:
    std::lock_guard<std::mutex> lock_;
};

bool stderr_is_terminal();

// Columns of the terminal that stderr is; 80 if it does not say.
int stderr_columns();

}  // namespace plait
