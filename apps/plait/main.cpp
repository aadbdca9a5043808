#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <new>

#include "command_line.h"
#include "parse.h"
#include "plait/base/log.h"
#include "session.h"

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// A process may be started with stdin, stdout or stderr closed: the next file opened would take its place.
// Writing to what stands there instead fails, as it should.
void occupy_standard_files() {
    for (int fd = 0; fd <= 2; ++fd) {
        if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);
    }
}

// A reader of stdout that goes away, or a file that may not grow, is an error of writing, not a signal.
void ignore_write_signals() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

// A page of a mapped file that is no longer there: nothing can go on, but why can be said. Only what may be
// called from a signal handler.
void tell_lost_page(int /*signal*/) {
    constexpr char kText[] =
        "plait: error: a file that is in use was shortened or cannot be read any more; was the model "
        "overwritten in place?\n";
    (void)!::write(STDERR_FILENO, kText, sizeof kText - 1);
    ::_exit(kFailed);
}

int plait_main(plait::app::CommandLine& line, const std::vector<std::string>& arguments) {
    try {
        if (line.parse(plait::app::rewrite_flags(arguments))) line.act();
        return kDone;
    } catch (const plait::app::UsageError& error) {
        plait::log_error(fmt::format("{}; see {}", error.what(), line.help_command()));
        return kWrongUsage;
    }
}

}  // namespace

int main(int argc, char** argv) {
    occupy_standard_files();
    ignore_write_signals();
    std::signal(SIGBUS, tell_lost_page);
    try {
        plait::app::CommandLine line;
        return plait_main(line, {argv + 1, argv + argc});
    } catch (const plait::app::OutputClosed&) {
        return kFailed;
    } catch (const std::bad_alloc&) {
        plait::log_error("memory ran out; a smaller context (-c) or micro-batch (-ub) needs less");
        return kFailed;
    } catch (const std::exception& error) {
        plait::log_error(error.what());
        return kFailed;
    }
}
