#include "plait/device/contract_kit.h"
#include "plait/device/contract_suite.h"

// The contract of streams and events.
namespace plait::device::contract {
namespace {

constexpr int64_t kSize = 64;

class Buffers {
  public:
    explicit Buffers(Device& device, int count) {
        for (int i = 0; i < count; ++i) buffers_.push_back(alloc_rows(device, {ir::DType::F32, {kSize / 4}}));
    }
    Region operator[](int i) const { return whole(*buffers_[static_cast<size_t>(i)], 0); }

  private:
    std::vector<std::unique_ptr<Buffer>> buffers_;
};

TEST_P(DeviceContract, AnIdleStreamIsSynchronised) {
    stream().synchronise();
    stream().synchronise();
}

TEST_P(DeviceContract, AnEventNeverRecordedHoldsNothingUp) {
    const auto event = device().make_event();
    EXPECT_TRUE(event->done());
    event->block();
    stream().wait(*event);
    stream().synchronise();
}

TEST_P(DeviceContract, AnEventIsDoneAfterItWasBlockedOn) {
    const Buffers buffers(device(), 1);
    const auto event = device().make_event();
    for (uint64_t round = 0; round < 20; ++round) {
        stream().write(buffers[0], random_bytes(kSize, round));
        stream().record(*event);
        event->block();
        EXPECT_TRUE(event->done());
    }
    stream().synchronise();
    EXPECT_TRUE(event->done());
}

TEST_P(DeviceContract, QueuedWorkIsDoneInOrder) {
    const Buffers buffers(device(), 3);
    Bytes seen[50];
    for (uint64_t round = 0; round < 50; ++round) {
        stream().write(buffers[0], random_bytes(kSize, round));
        stream().copy(buffers[0], buffers[1]);
        stream().write(buffers[0], random_bytes(kSize, 1000));
        stream().copy(buffers[1], buffers[2]);
        seen[round].resize(kSize);
        stream().read(buffers[2], seen[round]);
    }
    stream().synchronise();
    for (uint64_t round = 0; round < 50; ++round) EXPECT_EQ(seen[round], random_bytes(kSize, round));
}

TEST_P(DeviceContract, QueuesTakeAnyAmountOfWork) {
    const Buffers buffers(device(), 1);
    for (uint64_t round = 0; round < 2000; ++round) stream().write(buffers[0], random_bytes(kSize, round));
    EXPECT_EQ(read_now(stream(), buffers[0]), random_bytes(kSize, 1999));
}

TEST_P(DeviceContract, AWaitOrdersTwoStreams) {
    const Buffers buffers(device(), 2);
    const auto other = device().make_stream();
    const auto event = device().make_event();
    for (uint64_t round = 0; round < 50; ++round) {
        for (uint64_t i = 0; i < 5; ++i) stream().write(buffers[0], random_bytes(kSize, round * 100 + i));
        stream().record(*event);
        other->wait(*event);
        other->copy(buffers[0], buffers[1]);
        EXPECT_EQ(read_now(*other, buffers[1]), random_bytes(kSize, round * 100 + 4));
    }
}

TEST_P(DeviceContract, StreamsTakeTurns) {
    const Buffers buffers(device(), 2);
    const auto other = device().make_stream();
    const auto there = device().make_event();
    const auto back = device().make_event();
    const Bytes bytes = random_bytes(kSize, 1);
    stream().write(buffers[0], bytes);
    for (int round = 0; round < 30; ++round) {
        stream().record(*there);
        other->wait(*there);
        other->copy(buffers[0], buffers[1]);
        other->record(*back);
        stream().wait(*back);
        stream().write(buffers[0], Bytes(kSize, std::byte{0}));
        stream().copy(buffers[1], buffers[0]);
    }
    EXPECT_EQ(read_now(stream(), buffers[0]), bytes);
    other->synchronise();
}

TEST_P(DeviceContract, AStreamFinishesItsWorkWhenItEnds) {
    const Buffers buffers(device(), 1);
    {
        const auto other = device().make_stream();
        other->write(buffers[0], random_bytes(kSize, 1));
    }
    EXPECT_EQ(read_now(stream(), buffers[0]), random_bytes(kSize, 1));
}

}  // namespace
}  // namespace plait::device::contract
