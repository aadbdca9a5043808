#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "plait/backends/cpu/memory.h"
#include "plait/backends/cpu/runner.h"
#include "plait/device/device.h"

namespace plait::backends::cpu {

class CpuStream;

// A place in a stream's queue, by the number of the last piece of work before it.
class CpuEvent : public device::Event {
  public:
    bool done() const override;
    void block() override;

  private:
    friend class CpuStream;
    CpuStream* stream_ = nullptr;
    uint64_t mark_ = 0;
};

// Runs are queued and begin as soon as the device's workers are free; whoever needs their results lends its
// thread. Transfers happen at once, after everything queued before them.
class CpuStream : public device::Stream {
  public:
    CpuStream(Runner& runner, std::string device_name)
        : runner_(runner), device_name_(std::move(device_name)) {}
    ~CpuStream() override;

    void write(const device::Region& to, std::span<const std::byte> from) override;
    void read(const device::Region& from, std::span<std::byte> to) override;
    void copy(const device::Region& from, const device::Region& to) override;
    void run(device::BoundProgram& program, int segment, StopWord& stop) override;
    void record(device::Event& event) override;
    // An event of another kind of device is waited for here and now.
    void wait(device::Event& event) override;
    void synchronise() override;

  private:
    friend class CpuEvent;

    // A run, or (with a null program) a wait for what an event marked when wait() was called.
    struct Item {
        CpuBoundProgram* program = nullptr;
        int segment = 0;
        StopWord* stop = nullptr;
        CpuStream* awaited = nullptr;
        uint64_t mark = 0;
    };
    // More than any step queues; a full queue is drained, so the number is no limit on callers.
    static constexpr uint64_t kQueue = 64;

    void push(const Item& item);
    void begin_next();
    // Does queued work until number `mark` is done.
    void drain_to(uint64_t mark);
    void drain() { drain_to(pushed_); }

    Runner& runner_;
    const std::string device_name_;
    std::array<Item, kQueue> queue_;
    uint64_t pushed_ = 0;  // items ever queued
    uint64_t begun_ = 0;   // of those, handed to the workers; at most one more than done
    uint64_t done_ = 0;
};

}  // namespace plait::backends::cpu
