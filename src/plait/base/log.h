#pragma once

#include <string>
#include <string_view>

namespace plait {

// Messages for people. They go to stderr, with the level in front unless it is info, in colour if stderr is a
// terminal; results never go through here. The log is the process's, like stderr itself. Any thread may
// write; set_up_log() is for main, before other threads write.

enum class LogLevel {
    error,    // something asked for was not done
    warning,  // it was done, but not as one would expect; what -q leaves
    info,     // what a person starting the program wants to see
    debug,    // what a person searching for a fault wants to see (-v)
};

struct LogOptions {
    LogLevel level = LogLevel::info;  // the least urgent level that stderr shows
    std::string file;                 // if not empty: every level goes there too, with time and level
};

// Without this call stderr shows info and above. Truncates the file. Throws Error if it cannot be written.
void set_up_log(const LogOptions& options);

// Whether a message of this level goes anywhere: to skip composing a costly one.
bool log_enabled(LogLevel level);

// Whether stderr shows messages of this level.
bool stderr_shows(LogLevel level);

void log_error(std::string_view message);
void log_warning(std::string_view message);
void log_info(std::string_view message);
void log_debug(std::string_view message);

}  // namespace plait
