#pragma once

#include <string>
#include <vector>

#include "plait/load/model_weights.h"

namespace plait::load {

// One member's part of a weight that a device packs.
struct PackedPart {
    size_t weight = 0;
    int member = 0;
    device::ImageDescription image;
};

// In the order of weights and members, of those whose images can be kept.
std::vector<PackedPart> packed_parts(const ModelWeights& weights);

// Says everything that the parts' bytes depend on, one line for each file and each part: the files as they
// are on the disk (FileIdentity) with a hash of all that stands before their tensor data, and of each part
// name, type, shape, slice and layout. Empty when the model does not come from files. Pure.
std::string pack_key(const ModelWeights& weights, std::span<const PackedPart> parts);

}  // namespace plait::load
