#include "plait/backends/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include "plait/backends/cpu/packing.h"
#include "plait/base/recording_binder.h"
#include "plait/device/contract_kit.h"

namespace plait::backends::cpu {
namespace {

using device::contract::TestTensor;

std::vector<std::vector<std::byte>> outputs_with(int workers, simd::SimdLevel level) {
    Cores cores;
    CpuDevice device(cores, {.workers = workers, .simd = level});
    const auto stream = device.make_stream();
    auto model = device::contract::small_model(device, device::contract::small_step());
    const auto program = device.compile(model.graph, model.material.layouts);
    const device::contract::Resident resident(device, *stream, model.material);
    device::contract::Slot slot(device, *program, resident);
    slot.write_step(*stream, model.material.block);
    StopWord stop;
    slot.run(*stream, stop);
    std::vector<TestTensor> outputs;
    slot.read_outputs(*stream, outputs);
    stream->synchronise();
    std::vector<std::vector<std::byte>> bytes;
    for (TestTensor& output : outputs) bytes.push_back(std::move(output.bytes));
    return bytes;
}

TEST(CpuDevice, GivesTheSameBitsWithAnyNumberOfWorkers) {
    for (simd::SimdLevel level : {simd::SimdLevel::scalar, simd::best_level()}) {
        const auto alone = outputs_with(1, level);
        for (int workers : {2, 3, 5}) EXPECT_EQ(outputs_with(workers, level), alone) << workers;
    }
}

TEST(CpuDevice, UsesAllCoresUnlessTold) {
    Cores cores;
    EXPECT_EQ(CpuDevice(cores, {}).describe().workers, cores.usable());
    EXPECT_EQ(CpuDevice(cores, {.workers = 3}).describe().workers, 3);
    EXPECT_EQ(CpuDevice(cores, {.pins = {cores.cpus()[0]}}).describe().workers, 1);
}

// A device whose memory is that of a node, with everything it would bind.
struct OnNode {
    std::unique_ptr<RecordingBinder> recorded = std::make_unique<RecordingBinder>();
    RecordingBinder& binder = *recorded;
    Cores cores{imagine_cores({.topology = "numa:8 core:2 pu:1"}), std::move(recorded)};
    CpuDevice device{cores, {.name = "cpu:node7", .pins = {14, 15}, .node = 7}};
};

TEST(CpuDevice, SaysWhichNodeAndCoresItIs) {
    const OnNode on;
    const device::DeviceDescription& self = on.device.describe();
    EXPECT_EQ(self.memory, "node7");
    EXPECT_EQ(self.node, 7);
    EXPECT_EQ(self.cores, "14-15");
    EXPECT_EQ(self.workers, 2);
    EXPECT_GT(self.memory_bytes, 0);
    Cores cores;
    EXPECT_EQ(CpuDevice(cores, {}).describe().memory, "host");
    EXPECT_EQ(CpuDevice(cores, {}).describe().node, -1);
    EXPECT_EQ(CpuDevice(cores, {}).describe().cores, "");
    EXPECT_EQ(CpuDevice(cores, {.workers = 1, .pins = {8, 2}}).describe().cores, "8");
}

TEST(CpuDevice, BindsEveryBufferToItsNode) {
    OnNode on;
    const std::vector<ir::TensorDesc> tensors{{ir::DType::F32, {300, 256}}, {ir::DType::F32, {7}}};
    size_t bound = 0;
    for (size_t type = 0; type < on.device.describe().buffer_types.size(); ++type) {
        for (const auto usage : {device::Usage::weights, device::Usage::state, device::Usage::compute}) {
            const auto buffer = on.device.buffer_type(static_cast<int>(type)).alloc(tensors, usage);
            ASSERT_EQ(on.binder.memory().size(), ++bound);
            EXPECT_EQ(on.binder.memory().back().node, 7);
            EXPECT_EQ(static_cast<int64_t>(on.binder.memory().back().bytes), buffer->stored_bytes());
            EXPECT_EQ(on.binder.memory().back().begin, static_cast<CpuBuffer&>(*buffer).begin(0));
        }
    }
    Cores anywhere(imagine_cores({.topology = "numa:2 pu:1"}), std::make_unique<RecordingBinder>());
    CpuDevice roaming(anywhere, {});
    const auto buffer = roaming.row_buffer_type().alloc(tensors, device::Usage::state);
    EXPECT_EQ(on.binder.memory().size(), bound);
}

// Pages of files lie on whatever node they were read to.
TEST(CpuDevice, ANodeUsesNothingWhereItLies) {
    OnNode on;
    const ir::TensorDesc plain{ir::DType::F32, {4, 256}}, packed{ir::DType::Q4_0, {32, 256}};
    EXPECT_FALSE(on.device.row_buffer_type().can_wrap(plain, 4096));
    alignas(64) static std::byte host[4 * 256 * 4 + 4096];
    EXPECT_EQ(on.device.row_buffer_type().wrap(std::span(host).first(4 * 256 * 4), plain, 4096), nullptr);
    EXPECT_TRUE(on.device.buffer_type(0).describe_images(packed).empty());
    Cores cores;
    CpuDevice roaming(cores, {});
    EXPECT_TRUE(roaming.row_buffer_type().can_wrap(plain, 4096));
    EXPECT_FALSE(roaming.buffer_type(0).describe_images(packed).empty());
}

TEST(CpuDevice, PacksUnlessItMustNot) {
    Cores cores;
    const auto packs = [&](const CpuOptions& options) {
        return CpuDevice(cores, options).describe().find_layout(kPackedLayout) >= 0;
    };
    EXPECT_TRUE(packs({}));
    EXPECT_FALSE(packs({.repack = false}));
    EXPECT_FALSE(packs({.exact = true}));
}

TEST(CpuDevice, SaysInItsSignatureWhatChangesBits) {
    Cores cores;
    const auto signature = [&](const CpuOptions& options) {
        return CpuDevice(cores, options).describe().signature;
    };
    EXPECT_EQ(signature({.name = "a", .workers = 1}), signature({.name = "b", .workers = 2}));
    EXPECT_NE(signature({}), signature({.exact = true}));
    EXPECT_NE(signature({}), signature({.repack = false}));
}

TEST(CpuDevice, WrapsRowsThatHaveRoomBehindThem) {
    Cores cores;
    CpuDevice device(cores, {.workers = 1});
    const std::vector<std::byte> host(64);
    const ir::TensorDesc desc{ir::DType::F32, {16}};
    EXPECT_NE(device.row_buffer_type().wrap(host, desc, kOverRead), nullptr);
    EXPECT_EQ(device.row_buffer_type().wrap(host, desc, kOverRead - 1), nullptr);
    EXPECT_EQ(device.buffer_type(0).wrap(host, desc, kOverRead), nullptr) << "packed";
}

}  // namespace
}  // namespace plait::backends::cpu
