#include "plait/base/cancel.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <thread>
#include <vector>

namespace plait {
namespace {

TEST(StopWordTest, BeginsRunning) {
    StopWord stop;
    EXPECT_FALSE(stop.stopped());
    EXPECT_EQ(stop.word().load(), 0u);
    EXPECT_EQ(stop.message(), "");
}

TEST(StopWordTest, TheFirstReasonStays) {
    StopWord stop;
    stop.fail("cpu0: first");
    stop.fail("cpu1: second");
    stop.cancel();
    EXPECT_EQ(stop.state(), StopWord::kFailed);
    EXPECT_EQ(stop.message(), "cpu0: first");
    EXPECT_NE(stop.word().load(), 0u);

    stop.reset();
    EXPECT_FALSE(stop.stopped());
    EXPECT_EQ(stop.message(), "");

    stop.cancel();
    stop.fail("too late");
    EXPECT_EQ(stop.state(), StopWord::kCancelled);
    EXPECT_EQ(stop.message(), "cancelled");
}

TEST(StopWordTest, OneOfManyThreadsWins) {
    for (int round = 0; round < 50; ++round) {
        StopWord stop;
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&stop, i] {
                if (i == 3) stop.cancel();
                stop.fail("failure " + std::to_string(i));
                EXPECT_TRUE(stop.stopped());
            });
        for (std::thread& thread : threads) thread.join();
        if (stop.state() == StopWord::kFailed) {
            EXPECT_THAT(stop.message(), testing::StartsWith("failure "));
        } else {
            EXPECT_EQ(stop.message(), "cancelled");
        }
    }
}

StopWord* interrupted = nullptr;

TEST(StopWordTest, CancelsFromASignalHandler) {
    StopWord stop;
    interrupted = &stop;
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) { interrupted->cancel(); };
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, nullptr);
    EXPECT_EQ(stop.state(), StopWord::kCancelled);
}

}  // namespace
}  // namespace plait
