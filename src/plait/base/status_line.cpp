#include "plait/base/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace plait {
namespace {

std::mutex turn;
bool status_shown = false;  // guarded by turn

}  // namespace

StderrTurn::StderrTurn() : lock_(turn) {
    if (!status_shown) return;
    std::fputs("\r\x1b[K", stderr);  // to the first column; erase to the end of the line (ECMA-48 EL)
    std::fflush(stderr);
    status_shown = false;
}

void StderrTurn::show_status(std::string_view text) {
    std::fprintf(stderr, "%.*s", static_cast<int>(text.size()), text.data());
    std::fflush(stderr);
    status_shown = true;
}

bool stderr_is_terminal() { return isatty(STDERR_FILENO) == 1; }

int stderr_columns() {
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

}  // namespace plait
