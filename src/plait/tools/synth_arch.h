#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "plait/tools/synth.h"

// What a file of each architecture contains, as tables: synth_archs/<arch>.cpp, made of synth_archs/parts.h.
namespace plait::tools {

// A number of the model, as a function of its size.
using SynthExtent = int64_t (*)(const SynthSize&);
using SynthCondition = bool (*)(const SynthSize&);

enum class SynthFill : uint8_t {
    matrix,   // mean 0, variance 1 / columns: keeps the size of what it multiplies
    norm,     // near 1
    bias,     // near 0
    divisor,  // between 1 and 3, as frequencies are divided by
};

struct SynthTensor {
    std::string_view name;  // without "blk.N." and with ".weight" or ".bias"
    bool per_layer;
    std::array<SynthExtent, 3> shape;  // innermost last; unused ones, behind it, are nullptr
    SynthFill fill;
    bool typed;                // stored in the type asked for, else in F32
    SynthCondition condition;  // whether a model of this size has it
};

struct SynthCount {
    std::string_view key;  // behind "<arch>."
    SynthExtent value;
    SynthCondition condition;
};

// What is the same for every size.
struct SynthConstant {
    std::string_view key;  // behind "<arch>."
    std::variant<float, bool, std::string_view> value;
};

enum class SynthExperts : uint8_t { never, optional, always };

struct SynthArch {
    std::string_view name;
    bool grouped_heads;  // may have fewer key/value heads than heads
    bool free_head_dim;  // head_dim need not be width / heads
    SynthExperts experts;
    int64_t window = 0;  // usual one of local layers; 0: there are none
    std::span<const std::span<const SynthCount>> counts;
    std::span<const SynthConstant> constants;
    std::span<const std::span<const SynthTensor>> tensors;
};

// Throws Error listing the known ones.
const SynthArch& find_synth_arch(std::string_view name);

}  // namespace plait::tools
