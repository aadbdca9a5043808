#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/device/device.h"
#include "plait/gguf/file.h"
#include "plait/ir/weights.h"

// From a file's tensors to a device's buffers.
namespace plait::load {

struct LoadOptions {
    // Use the file's bytes in place where device and layout can; otherwise every tensor is copied.
    bool use_mapping = true;
    // Called after each tensor with bytes done and bytes in all.
    std::function<void(int64_t done, int64_t total)> progress = {};
};

// A model's weights on one device. The file must outlive it when tensors were wrapped.
struct Weights {
    std::vector<std::unique_ptr<device::Buffer>> buffers;
    std::vector<device::Region> regions;  // by weight index; no buffer for weights nobody reads
};

// What load_weights will do with memory, before any weight is read.
struct WeightBytes {
    int64_t mapped = 0;    // used where they lie in the file
    int64_t stored = 0;    // held in device memory
    int64_t mirrored = 0;  // of both, what another member has too
};
// By member of the device.
std::vector<WeightBytes> weight_bytes(const gguf::File& file, std::span<const ir::WeightSpec> specs,
                                      std::span<const device::StoredTensor> tensors,
                                      std::span<const int> layouts, device::Device& device, bool use_mapping);

// Puts each weight, which lies over the device's members as `tensors` says, into the buffer type of its
// layout (as Device::choose_layouts gave it). Packing happens tensor by tensor on the device's own threads.
// Throws Error when memory does not suffice.
Weights load_weights(const gguf::File& file, std::span<const ir::WeightSpec> specs,
                     std::span<const device::StoredTensor> tensors, std::span<const int> layouts,
                     device::Device& device, device::Stream& stream, const LoadOptions& options);

}  // namespace plait::load
