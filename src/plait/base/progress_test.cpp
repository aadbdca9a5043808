#include "plait/base/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "plait/base/log.h"

namespace plait {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// Puts a pseudo terminal in the place of stderr.
class TerminalStderr {
  public:
    TerminalStderr() : reader_(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)), before_(dup(STDERR_FILENO)) {
        grantpt(reader_);
        unlockpt(reader_);
        const int terminal = open(ptsname(reader_), O_RDWR | O_NOCTTY);
        const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
        ioctl(terminal, TIOCSWINSZ, &size);
        dup2(terminal, STDERR_FILENO);
        close(terminal);
    }
    ~TerminalStderr() {
        dup2(before_, STDERR_FILENO);
        close(before_);
        close(reader_);
    }

    std::string written() const {
        std::string text;
        char buffer[4096];
        for (ssize_t n; (n = read(reader_, buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<size_t>(n));
        return text;
    }

  private:
    int reader_;
    int before_;
};

TEST(ProgressText, ShowsBarPercentAndTimeLeft) {
    EXPECT_EQ(progress_text("loading", 50, 100, 12s, 40), "loading [#######        ]  50% 12 s left");
    EXPECT_EQ(progress_text("loading", 1, 100, 12s, 40), "loading [                         ]   1%");
    EXPECT_EQ(progress_text("loading", 10, 100, 60s, 40), "loading [#             ]  10% 9 min left");
    EXPECT_THAT(progress_text("x", 3, 3, 1s, 200), EndsWith("] 100%"));
}

TEST(ProgressText, FitsTheColumns) {
    for (int columns = -1; columns < 100; ++columns)
        EXPECT_LE(progress_text("a label of some length", 7, 9, 10s, columns).size(),
                  static_cast<size_t>(std::max(columns, 0)));
    EXPECT_EQ(progress_text("loading", 50, 100, 12s, 28), "loading  50% 12 s left");
}

TEST(ProgressText, OddTotals) {
    EXPECT_THAT(progress_text("x", 0, 0, 1s, 60), HasSubstr("100%"));
    EXPECT_THAT(progress_text("x", 9, 3, 1s, 60), HasSubstr("100%"));
    EXPECT_THAT(progress_text("x", 0, ~uint64_t{0}, 0s, 60), HasSubstr("  0%"));
}

TEST(ProgressTest, APipeGetsNothingFromShortWork) {
    testing::internal::CaptureStderr();
    {
        Progress progress("loading");
        for (uint64_t i = 0; i <= 1000; ++i) progress.update(i, 1000);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressTest, ATerminalGetsABarAfterASecondAndLosesItAtTheEnd) {
    TerminalStderr terminal;
    {
        Progress progress("loading");
        progress.update(1, 4);
        EXPECT_EQ(terminal.written(), "");
        std::this_thread::sleep_for(1050ms);
        progress.update(2, 4);
        const std::string bar = terminal.written();
        EXPECT_THAT(bar, HasSubstr("loading [#"));
        EXPECT_THAT(bar, HasSubstr(" 50% "));
        EXPECT_LT(bar.size(), 60u);

        progress.update(3, 4);  // too early to draw again
        EXPECT_EQ(terminal.written(), "");

        log_info("a message");
        EXPECT_THAT(terminal.written(), testing::StartsWith("\r\x1b[K"));

        std::this_thread::sleep_for(110ms);
        progress.update(3, 4);
        EXPECT_THAT(terminal.written(), HasSubstr(" 75% "));
    }
    EXPECT_EQ(terminal.written(), "\r\x1b[K");
}

TEST(ProgressTest, QuietMeansNoBar) {
    TerminalStderr terminal;
    set_up_log({.level = LogLevel::warning});
    {
        Progress progress("loading");
        std::this_thread::sleep_for(1050ms);
        progress.update(2, 4);
    }
    set_up_log({});
    EXPECT_EQ(terminal.written(), "");
}

TEST(ProgressTest, ManyThreadsMayReport) {
    TerminalStderr terminal;
    Progress progress("loading");
    std::this_thread::sleep_for(1050ms);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (uint64_t done = 0; done < 1000; ++done) progress.update(done, 1000);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(terminal.written(), HasSubstr("loading ["));
}

}  // namespace
}  // namespace plait
