#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/load/model_weights.h"
#include "plait/load/pack_cache.h"

// From a file's tensors to a device's buffers.
namespace plait::load {

struct LoadOptions {
    // Use the file's bytes in place where device and layout can; otherwise every tensor is copied.
    bool use_mapping = true;
    // Has weights that are packed already.
    const PackCache* cache = nullptr;
    // Called after each tensor with bytes done and bytes in all.
    std::function<void(int64_t done, int64_t total)> progress = {};
};

// A model's weights on one device. File and cache must outlive it when tensors were wrapped.
struct Weights {
    std::vector<std::unique_ptr<device::Buffer>> buffers;
    std::vector<device::Region> regions;  // by weight index; no buffer for weights nobody reads
};

// What load_weights will do with memory, before any weight is read.
struct WeightBytes {
    int64_t mapped = 0;    // used where they lie in the model's file or the cache's
    int64_t stored = 0;    // held in device memory
    int64_t mirrored = 0;  // of both, what another member has too
};
// By member of the device.
std::vector<WeightBytes> weight_bytes(const ModelWeights& weights, const LoadOptions& options);

// Puts each weight into the buffer type of its layout: used where it lies in the file, or in the cache, or
// copied and packed, tensor by tensor on the device's own threads. Throws Error when memory does not suffice.
Weights load_weights(const ModelWeights& weights, device::Stream& stream, const LoadOptions& options);

}  // namespace plait::load
