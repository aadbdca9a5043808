#pragma once

#include <span>
#include <vector>

#include "plait/device/device.h"
#include "plait/gguf/file.h"
#include "plait/ir/weights.h"

namespace plait::load {

// A model's weights: where they come from, and how a device is to have them. By weight index throughout. What
// it refers to outlives it.
struct ModelWeights {
    const gguf::File& file;
    std::span<const ir::WeightSpec> specs;
    std::vector<device::StoredTensor> tensors;  // how each lies over the device's members
    std::span<const int> layouts;               // as Device::choose_layouts gave them
    device::Device& device;

    // Of a weight that somebody reads.
    device::BufferType& type_of(size_t weight) const { return device.buffer_type(layouts[weight]); }
};

}  // namespace plait::load
