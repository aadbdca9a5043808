#include <gtest/gtest.h>

#include "plait/backends/sim/sim_device.h"
#include "plait/base/cores.h"
#include "plait/device/contract_kit.h"

// What the simulated device is for: whoever leaves out one write, copy or wait gets a wrong result.
namespace plait::backends::sim {
namespace {

using device::Event;
using device::Region;
using device::Stream;
using device::contract::Bytes;

#ifdef __SANITIZE_THREAD__
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

// Counts calls and leaves out one of them.
struct Omission {
    int victim = -1;
    int seen = 0;
    bool victim_is_wait = false;

    bool happens() { return seen++ == victim; }
};

class OmittingStream : public Stream {
  public:
    OmittingStream(std::unique_ptr<Stream> inner, Omission& omission)
        : inner_(std::move(inner)), omission_(omission) {}

    void write(const Region& to, std::span<const std::byte> from) override {
        if (!omission_.happens()) inner_->write(to, from);
    }
    void copy(const Region& from, const Region& to) override {
        if (!omission_.happens()) inner_->copy(from, to);
    }
    void wait(Event& event) override {
        omission_.victim_is_wait |= omission_.seen == omission_.victim;
        if (!omission_.happens()) inner_->wait(event);
    }
    void read(const Region& from, std::span<std::byte> to) override { inner_->read(from, to); }
    void run(device::BoundProgram& program, int segment, StopWord& stop) override {
        inner_->run(program, segment, stop);
    }
    void record(Event& event) override { inner_->record(event); }
    void synchronise() override { inner_->synchronise(); }

    // Work without effect, which holds up what is queued after it, but not the host: copies are not staged.
    void dawdle(const Region& from, const Region& to) {
        for (int i = 0; i < 200; ++i) inner_->copy(from, to);
    }

  private:
    const std::unique_ptr<Stream> inner_;
    Omission& omission_;
};

// One device with two streams and some buffers.
class Half {
  public:
    Half(Cores& cores, uint64_t seed, Omission& omission)
        : device_(cores, {.seed = seed, .max_delay_us = 200}),
          first(device_.make_stream(), omission),
          second(device_.make_stream(), omission),
          event(device_.make_event()) {
        for (auto& buffer : buffers_) buffer = device::contract::alloc_rows(device_, {ir::DType::F32, {16}});
    }
    Region operator[](size_t i) { return device::whole(*buffers_[i], 0); }

  private:
    SimDevice device_;
    std::unique_ptr<device::Buffer> buffers_[5];

  public:
    OmittingStream first;
    OmittingStream second;
    std::unique_ptr<Event> event;
};

// Takes bytes over both streams of a device: up, across, and back to the host.
Bytes through(Half& half, const Bytes& in) {
    Bytes out(in.size());
    half.first.dawdle(half[3], half[4]);
    half.first.write(half[0], in);
    half.first.copy(half[0], half[1]);
    half.first.record(*half.event);
    half.second.wait(*half.event);
    half.second.copy(half[1], half[2]);
    half.second.read(half[2], out);
    half.second.synchronise();
    half.first.synchronise();
    return out;
}

Bytes through_two_devices(Omission& omission, const Bytes& in) {
    Cores cores;
    Half here(cores, 1, omission), there(cores, 2, omission);
    return through(there, through(here, in));
}

TEST(SimOmission, NothingLeftOutIsRight) {
    const Bytes in = device::contract::random_bytes(64, 1);
    Omission none;
    EXPECT_EQ(through_two_devices(none, in), in);
    EXPECT_EQ(none.seen, 8);
}

// Without a wait two queues race for one buffer, which ThreadSanitizer reports by itself.
TEST(SimOmission, EachCallLeftOutIsNoticed) {
    const Bytes in = device::contract::random_bytes(64, 1);
    for (int victim = 0; victim < 8; ++victim) {
        const bool is_wait = victim % 4 == 2;
        if (is_wait && kThreadSanitizer) continue;
        Omission omission{.victim = victim};
        EXPECT_NE(through_two_devices(omission, in), in) << "call " << victim;
        EXPECT_EQ(omission.victim_is_wait, is_wait);
    }
}

}  // namespace
}  // namespace plait::backends::sim
