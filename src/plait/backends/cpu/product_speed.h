#pragma once

#include "plait/backends/cpu/kernel.h"
#include "plait/backends/cpu/runner.h"
#include "plait/device/device.h"

namespace plait::backends::cpu {

// How the products of one kernel are measured.
struct ProductUnderTest {
    const Kernel& kernel;
    const simd::KernelTable& simd;
    device::BufferType& weights;    // the type that stores them
    device::BufferType& workspace;  // of rows
    ir::TensorDesc weight;          // a matrix as a model has it: format and length of its rows
};

// The speeds that device::Device::measure_product() tells, on the runner's workers. `stream` is one of the
// device, which has nothing else to do. Takes less than a tenth of a second, and longer where a kernel is
// very slow.
device::ProductSpeed measure_product(const ProductUnderTest& product, Runner& runner, device::Stream& stream);

}  // namespace plait::backends::cpu
