#include "plait/base/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "plait/base/error.h"
#include "plait/base/status_line.h"

namespace plait {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
        case LogLevel::error:
            return spdlog::level::err;
        case LogLevel::warning:
            return spdlog::level::warn;
        case LogLevel::info:
            return spdlog::level::info;
        case LogLevel::debug:
            return spdlog::level::debug;
    }
    return spdlog::level::off;
}

// "%*" in the pattern below: "warning: ", "error: ", "debug: "; nothing for info, which is plain text to the
// reader.
class LevelPrefix : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        if (message.level == spdlog::level::info) return;
        const auto name = spdlog::level::to_string_view(message.level);
        out.append(name.data(), name.data() + name.size());
        out.append(std::string_view(": "));
    }
    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<LevelPrefix>(); }
};

spdlog::sink_ptr stderr_sink(LogLevel level) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<LevelPrefix>('*').set_pattern("%^%*%$%v");
    auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(spdlog::color_mode::automatic);
    sink->set_formatter(std::move(formatter));
    sink->set_level(spdlog_level(level));
    return sink;
}

spdlog::sink_ptr file_sink(const std::string& path) {
    try {
        auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path, /*truncate=*/true);
        sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
        return sink;
    } catch (const spdlog::spdlog_ex& error) {
        throw Error(fmt::format("log: the log file '{}' cannot be written: {}", path, error.what()));
    }
}

// Not registered with spdlog: nothing else in the process can find or change it.
spdlog::logger make_logger(const LogOptions& options) {
    std::vector<spdlog::sink_ptr> sinks{stderr_sink(options.level)};
    if (!options.file.empty()) sinks.push_back(file_sink(options.file));
    spdlog::logger made("plait", sinks.begin(), sinks.end());
    made.set_level(options.file.empty() ? spdlog_level(options.level) : spdlog::level::debug);
    made.flush_on(spdlog::level::debug);  // a crash must not take the last messages with it
    return made;
}

spdlog::logger& logger() {
    static spdlog::logger instance = make_logger({});
    return instance;
}

void write(LogLevel level, std::string_view message) {
    if (!log_enabled(level)) return;
    StderrTurn turn;
    logger().log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace

void set_up_log(const LogOptions& options) { logger() = make_logger(options); }

bool log_enabled(LogLevel level) { return logger().should_log(spdlog_level(level)); }

bool stderr_shows(LogLevel level) { return logger().sinks().front()->should_log(spdlog_level(level)); }

void log_error(std::string_view message) { write(LogLevel::error, message); }
void log_warning(std::string_view message) { write(LogLevel::warning, message); }
void log_info(std::string_view message) { write(LogLevel::info, message); }
void log_debug(std::string_view message) { write(LogLevel::debug, message); }

}  // namespace plait
