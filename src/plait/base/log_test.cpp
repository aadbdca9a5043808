#include "plait/base/log.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "plait/base/cgroup.h"
#include "plait/base/error.h"

namespace plait {
namespace {

using testing::HasSubstr;
using testing::Not;

class LogTest : public testing::Test {
  protected:
    ~LogTest() override { set_up_log({}); }

    static std::string stderr_of_all_levels() {
        testing::internal::CaptureStderr();
        log_error("e {}");  // not a format string
        log_warning("w");
        log_info("i");
        log_debug("d");
        return testing::internal::GetCapturedStderr();
    }
};

TEST_F(LogTest, LevelsDecideWhatStderrShows) {
    EXPECT_EQ(stderr_of_all_levels(), "error: e {}\nwarning: w\ni\n");
    set_up_log({.level = LogLevel::warning});
    EXPECT_EQ(stderr_of_all_levels(), "error: e {}\nwarning: w\n");
    EXPECT_FALSE(log_enabled(LogLevel::info));
    set_up_log({.level = LogLevel::error});
    EXPECT_EQ(stderr_of_all_levels(), "error: e {}\n");
    set_up_log({.level = LogLevel::debug});
    EXPECT_EQ(stderr_of_all_levels(), "error: e {}\nwarning: w\ni\ndebug: d\n");
}

TEST_F(LogTest, TheFileGetsEverything) {
    const auto path = std::filesystem::path(testing::TempDir()) / "plait_log_test.log";
    set_up_log({.level = LogLevel::error, .file = path.string()});
    EXPECT_TRUE(log_enabled(LogLevel::debug));
    EXPECT_FALSE(stderr_shows(LogLevel::warning));
    EXPECT_EQ(stderr_of_all_levels(), "error: e {}\n");
    set_up_log({});
    const std::string text = read_system_file(path.string()).value_or("");
    for (const char* line : {" error: e {}\n", " warning: w\n", " info: i\n", " debug: d\n"})
        EXPECT_THAT(text, HasSubstr(line));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    std::filesystem::remove(path);
}

TEST_F(LogTest, AFileThatCannotBeWrittenIsAnError) {
    EXPECT_THAT([] { set_up_log({.file = "/proc/no such folder/log"}); },
                testing::ThrowsMessage<Error>(
                    HasSubstr("the log file '/proc/no such folder/log' cannot be written")));
    EXPECT_THAT(stderr_of_all_levels(), HasSubstr("w"));  // the log before is still there
}

TEST_F(LogTest, LinesOfManyThreadsStayWhole) {
    testing::internal::CaptureStderr();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([] {
            for (int line = 0; line < 50; ++line) log_info("0123456789");
        });
    for (std::thread& thread : threads) thread.join();
    std::string expected;
    for (int line = 0; line < 200; ++line) expected += "0123456789\n";
    EXPECT_EQ(testing::internal::GetCapturedStderr(), expected);
}

}  // namespace
}  // namespace plait
