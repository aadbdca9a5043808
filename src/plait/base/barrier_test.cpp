#include "plait/base/barrier.h"

#include <gmock/gmock.h>

#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "plait/base/cancel.h"

namespace plait {
namespace {

// Enough cores to spin for small tests, too few for large ones, whatever the machine.
Cores two_cores() { return Cores({.cpus = {0, 1}}); }

// Runs `body(worker)` on so many threads, counted as live workers.
template <typename Body>
void run_workers(Cores& cores, int workers, Body body) {
    const auto lease = cores.lease(workers);
    std::vector<std::thread> threads;
    for (int worker = 0; worker < workers; ++worker) threads.emplace_back([&body, worker] { body(worker); });
    for (std::thread& thread : threads) thread.join();
}

TEST(BarrierTest, OneWorkerNeverWaits) {
    const Cores cores = two_cores();
    Barrier barrier(1, cores);
    StopWord stop;
    EXPECT_TRUE(barrier.wait(stop.word()));
    EXPECT_TRUE(barrier.wait(stop.word()));
    stop.cancel();
    EXPECT_FALSE(barrier.wait(stop.word()));
}

TEST(BarrierDeathTest, NeedsAWorker) {
    const Cores cores = two_cores();
    EXPECT_DEATH(Barrier(0, cores), "a barrier needs a worker");
}

class BarrierOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, BarrierOf, testing::Values(2, 3, 8, 33));

// Plain memory written before the barrier by one worker is read after it by the next one.
TEST_P(BarrierOf, PublishesWhatWasWrittenBefore) {
    const int workers = GetParam();
    constexpr int kRounds = 500;
    Cores cores = two_cores();
    Barrier barrier(workers, cores);
    StopWord stop;
    std::vector<int> slots(static_cast<size_t>(workers), -1);
    std::atomic<int> wrong{0};
    run_workers(cores, workers, [&](int worker) {
        for (int round = 0; round < kRounds; ++round) {
            slots[static_cast<size_t>(worker)] = round;
            if (!barrier.wait(stop.word())) ++wrong;
            if (slots[static_cast<size_t>((worker + 1) % workers)] != round) ++wrong;
            if (!barrier.wait(stop.word())) ++wrong;
        }
    });
    EXPECT_EQ(wrong.load(), 0);
}

// Whenever the word changes, all workers leave after the same round.
TEST_P(BarrierOf, EveryWorkerGetsTheSameAnswer) {
    const int workers = GetParam();
    std::mt19937 random(7);
    for (int repeat = 0; repeat < 20; ++repeat) {
        Cores cores = two_cores();
        Barrier barrier(workers, cores);
        StopWord stop;
        std::vector<int> rounds(static_cast<size_t>(workers), 0);
        std::thread canceller([&stop, wait = std::chrono::microseconds(random() % 2000)] {
            std::this_thread::sleep_for(wait);
            stop.cancel();
        });
        run_workers(cores, workers, [&](int worker) {
            while (barrier.wait(stop.word())) ++rounds[static_cast<size_t>(worker)];
        });
        canceller.join();
        EXPECT_THAT(rounds, testing::Each(rounds[0]));
        stop.reset();
        run_workers(cores, workers, [&](int) { EXPECT_TRUE(barrier.wait(stop.word())); });
    }
}

// Workers that come late find the others asleep, with and without spinning before.
TEST(BarrierTest, WakesThoseWhoSleep) {
    for (const int cpus : {1, 2}) {
        Cores cores({.cpus = cpus == 1 ? std::vector{0} : std::vector{0, 1}});
        Barrier barrier(2, cores);
        StopWord stop;
        run_workers(cores, 2, [&](int worker) {
            for (int round = 0; round < 10; ++round) {
                if (worker == round % 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
                EXPECT_TRUE(barrier.wait(stop.word()));
            }
        });
    }
}

}  // namespace
}  // namespace plait
