#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <variant>

#include "plait/backends/sim/memory.h"
#include "plait/backends/sim/program.h"
#include "plait/backends/sim/progress.h"
#include "plait/base/cores.h"
#include "plait/device/device.h"

namespace plait::backends::sim {

// A place in a stream's queue: so many items are before it.
class SimEvent : public device::Event {
  public:
    bool done() const override { return progress_ == nullptr || progress_->is_done(mark_); }
    void block() override {
        if (progress_ != nullptr) progress_->wait_done(mark_);
    }

  private:
    friend class SimStream;
    std::shared_ptr<Progress> progress_;
    uint64_t mark_ = 0;
};

// Delays before the items of a queue, so that what should have been waited for is not ready by chance.
struct Delays {
    uint64_t seed = 0;
    int64_t max_us = 0;  // 0: none
};

// What a device's queues have spent on programs while `on`.
struct RunCount {
    std::atomic<bool> on{false};
    std::atomic<double> seconds{0};
    std::atomic<int64_t> runs{0};
};

// A queue with a thread of its own ("plait-sim"), which does one item after the other and sleeps when there
// is none. Nothing that the calling thread does is needed for it to go on. Allocates only when it is made.
class SimStream : public device::Stream {
  public:
    // `type`, `cores` and `count` outlive the stream. Throws Error when the system refuses the thread.
    SimStream(const SimBufferType& type, Cores& cores, const Delays& delays, RunCount& count);
    // Does what is queued first.
    ~SimStream() override;

    void write(const device::Region& to, std::span<const std::byte> from) override;
    void read(const device::Region& from, std::span<std::byte> to) override;
    void copy(const device::Region& from, const device::Region& to) override;
    void run(device::BoundProgram& program, int segment, StopWord& stop) override;
    void record(device::Event& event) override;
    // An event of another kind of device is waited for here and now: its work may need this thread.
    void wait(device::Event& event) override;
    void synchronise() override;

  private:
    struct Write {
        device::Region to;
        std::span<const std::byte> staged;
    };
    struct Read {
        device::Region from;
        std::span<std::byte> to;
    };
    struct Copy {
        device::Region from;
        device::Region to;
    };
    struct Run {
        const SimBoundProgram* program;
        int segment;
        StopWord* stop;
    };
    struct Wait {
        std::shared_ptr<Progress> progress;
        uint64_t mark;
    };
    using Item = std::variant<std::monostate, Write, Read, Copy, Run, Wait>;

    // More than a step queues. A full queue is waited for, so the number is no limit on callers.
    static constexpr uint64_t kQueue = 256;
    // Written bytes wait for their turn in pieces of at most so many, of which there are so many.
    static constexpr int64_t kStagedBytes = int64_t{1} << 20;
    static constexpr size_t kStages = 16;

    void start_thread();
    void check(const char* operation, const device::Region& region, int64_t bytes) const;
    void push(const Item& item);
    void write_part(const device::Region& to, std::span<const std::byte> from);

    // Of the queue's thread.
    void thread_main();
    void delay();
    void execute(const Item& item);
    void transfer(const Item& item);
    void compute(const Run& run);

    const SimBufferType& type_;
    const Cores::Lease lease_;
    const Delays delays_;
    RunCount& count_;
    std::mt19937_64 random_;  // of the queue's thread

    const std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
    std::array<Item, kQueue> queue_;
    uint64_t pushed_ = 0;  // items ever queued
    const std::unique_ptr<std::byte[]> stages_;
    std::array<uint64_t, kStages> stage_free_after_{};  // by stage: the item that has it, counted from 1
    uint64_t staged_ = 0;                               // pieces ever staged
    std::optional<std::string> error_;  // of the first failed transfer; the thread's until an item is done

    std::thread thread_;
};

}  // namespace plait::backends::sim
