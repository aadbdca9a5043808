#include "plait/backends/sim/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "plait/backends/sim/sim_device.h"
#include "plait/base/allocation_count.h"
#include "plait/device/contract_kit.h"

namespace plait::backends::sim {
namespace {

using device::contract::Bytes;
using device::contract::random_bytes;

struct Fixture {
    Cores cores;
    SimDevice device{cores, {.max_delay_us = 50}};
    std::unique_ptr<device::Stream> stream = device.make_stream();
};

TEST(SimStream, GoesOnWithoutTheHost) {
    Fixture f;
    const auto buffer = device::contract::alloc_rows(f.device, {ir::DType::F32, {16}});
    const auto event = f.device.make_event();
    f.stream->write(device::whole(*buffer, 0), random_bytes(64, 1));
    f.stream->record(*event);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!event->done() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_TRUE(event->done());
}

TEST(SimStream, IsCountedAsAWorker) {
    Cores cores;
    SimDevice device(cores, {});
    EXPECT_EQ(cores.live_workers(), 0);
    const auto one = device.make_stream();
    const auto two = device.make_stream();
    EXPECT_EQ(cores.live_workers(), 2);
}

TEST(SimStream, OrdersStreamsOfTwoDevices) {
    Fixture f, g;
    const auto from = device::contract::alloc_rows(f.device, {ir::DType::F32, {16}});
    const auto to = device::contract::alloc_rows(g.device, {ir::DType::F32, {16}});
    const auto event = f.device.make_event();
    for (uint64_t round = 0; round < 20; ++round) {
        Bytes bytes(64);
        f.stream->write(device::whole(*from, 0), random_bytes(64, round));
        f.stream->read(device::whole(*from, 0), bytes);
        f.stream->record(*event);
        g.stream->wait(*event);
        g.stream->synchronise();
        EXPECT_EQ(bytes, random_bytes(64, round)) << "the event is past the read";
        g.stream->write(device::whole(*to, 0), bytes);
        EXPECT_EQ(device::contract::read_now(*g.stream, device::whole(*to, 0)), bytes);
    }
}

TEST(SimStream, WaitsAtOnceForEventsOfOtherKinds) {
    class OtherEvent : public device::Event {
      public:
        bool done() const override { return blocked; }
        void block() override { blocked = true; }
        bool blocked = false;
    } event;
    Fixture f;
    f.stream->wait(event);
    EXPECT_TRUE(event.blocked);
}

TEST(SimStream, AStepLargerThanItsProgramIsAnError) {
    Fixture f;
    auto model = device::contract::small_model(f.device, device::contract::small_step());
    const auto program = f.device.compile(model.graph, model.material.layouts);
    const device::contract::Resident resident(f.device, *f.stream, model.material);
    device::contract::Slot slot(f.device, *program, resident);
    std::vector<int32_t> block = model.material.block;
    *device::contract::view_of(model.graph, block).token_count = 9;
    slot.write_step(*f.stream, block);
    StopWord stop;
    slot.run(*f.stream, stop);
    f.stream->synchronise();
    EXPECT_EQ(stop.message(), "sim: embed: the step has 9 rows of I32[8]");
    EXPECT_EQ(device::contract::state_error(model.material.state, resident.read_state(*f.stream)), 0.0)
        << "nothing runs after it";
}

TEST(SimStream, StepsAllocateNothing) {
    Fixture f;
    auto model = device::contract::small_model(f.device, device::contract::small_step());
    const auto program = f.device.compile(model.graph, model.material.layouts);
    const device::contract::Resident resident(f.device, *f.stream, model.material);
    device::contract::Slot slot(f.device, *program, resident);
    const auto buffer = device::contract::alloc_rows(f.device, {ir::DType::F32, {1 << 20}});
    const Bytes in = random_bytes(4 << 20, 1);
    Bytes out(in.size());
    const auto event = f.device.make_event();
    slot.write_step(*f.stream, model.material.block);
    StopWord stop;
    long before = 0;
    for (int step = 0; step < 10; ++step) {
        if (step == 1) before = allocation_count();
        f.stream->write(device::whole(*buffer, 0), in);
        slot.bound().prepare(ir::StepView());
        slot.run(*f.stream, stop);
        f.stream->record(*event);
        f.stream->wait(*event);
        f.stream->read(device::whole(*buffer, 0), out);
        f.stream->synchronise();
    }
    EXPECT_EQ(allocation_count(), before);
    EXPECT_TRUE(in == out);
}

}  // namespace
}  // namespace plait::backends::sim
