#include "plait/backends/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include "plait/backends/cpu/packing.h"
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
