#include "plait/backends/cpu/product_speed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plait/backends/cpu/cpu_device.h"
#include "plait/backends/cpu/packing.h"

namespace plait::backends::cpu {
namespace {

using dtype::DType;

#ifdef __SANITIZE_THREAD__
// Whose checks cost the loop of instructions more than they cost products.
constexpr bool kSpeedsMeanLittle = true;
#else
constexpr bool kSpeedsMeanLittle = false;
#endif

// More than a product can do of its instructions on a machine whose speed changes meanwhile; less than where
// the compiler has seen through a loop of them.
constexpr double kSeenThrough = 1.3;
constexpr int kTries = 8;

// The best of each until they fit together: what else runs makes single ones slow.
device::ProductSpeed speed_of(CpuDevice& device, DType type, const char* layout) {
    const int index = device.describe().find_layout(layout);
    device::ProductSpeed best;
    for (int i = 0; i < kTries && (i == 0 || best.kernel > best.instructions); ++i) {
        const auto speed = device.measure_product({type, {512, 512}}, index);
        if (!speed) return {};
        best.instructions_one = std::max(best.instructions_one, speed->instructions_one);
        best.instructions = std::max(best.instructions, speed->instructions);
        best.kernel = std::max(best.kernel, speed->kernel);
    }
    return best;
}

void check(CpuDevice& device, DType type, const char* layout) {
    SCOPED_TRACE(dtype::info(type).name);
    const device::ProductSpeed speed = speed_of(device, type, layout);
    for (const double rate : {speed.instructions_one, speed.instructions, speed.kernel}) {
        EXPECT_TRUE(std::isfinite(rate));
        EXPECT_GT(rate, 0);
    }
    if (!kSpeedsMeanLittle) {
        EXPECT_LT(speed.kernel, kSeenThrough * speed.instructions);
    }
}

// Codes of every kind: 2, 4, 5 and 6 bits, signed, and with one or two scales.
TEST(ProductSpeed, NoKernelIsFasterThanItsInstructions) {
    Cores cores;
    for (const simd::SimdLevel level : simd::kAllLevels) {
        // Of plain code the compiler makes what it likes, here this and there that.
        if (!simd::has_level(level) || level == simd::SimdLevel::scalar) continue;
        SCOPED_TRACE(simd::name(level));
        CpuDevice device(cores, {.workers = 1, .simd = level});
        for (const DType type :
             {DType::Q4_0, DType::Q4_K, DType::Q5_0, DType::Q6_K, DType::Q2_K, DType::Q8_0})
            check(device, type, kPackedLayout);
        for (const DType type : {DType::F32, DType::F16, DType::Q4_K, DType::TQ1_0})
            check(device, type, device::kRowLayout);
    }
}

TEST(ProductSpeed, ExactProductsAreMeasuredInFloats) {
    Cores cores;
    CpuDevice device(cores, {.workers = 2, .simd = simd::best_level(), .exact = true});
    check(device, DType::Q4_K, device::kRowLayout);
}

TEST(ProductSpeed, WhatTheDeviceCannotMultiplyHasNone) {
    Cores cores;
    CpuDevice device(cores, {.workers = 1});
    EXPECT_FALSE(
        device.measure_product({DType::F32, {32, 512}}, device.describe().find_layout(kPackedLayout)));
}

}  // namespace
}  // namespace plait::backends::cpu
