#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/device/device.h"
#include "plait/gguf/file.h"

// How fast devices do what a step mostly does: multiply with weights, which one token reads from memory and
// many tokens keep in caches.
namespace plait::engine {

// Weights of a matrix times tokens, per second.
struct MemberSpeed {
    double one_token = 0;
    double many_tokens = 0;

    // Generation and prompts alike: the geometric mean, so that neither unit matters.
    double both() const;
};

// Measures each device with matrices of this format, while the others have nothing to do: for some
// milliseconds each, in turns, the best time of each. Devices that are alike in all that they say of
// themselves (kind, kernels, workers, cores, node) have one speed. What was measured once is kept for as long
// as the process lives. Throws Error naming the device when one fails.
std::vector<MemberSpeed> measure_members(std::span<const std::unique_ptr<device::Device>> devices,
                                         dtype::DType format);

// That of most bytes of the model's matrices; F32 if it has none.
dtype::DType most_common_format(const gguf::File& file);

}  // namespace plait::engine
