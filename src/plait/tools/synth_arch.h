#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "plait/tools/synth.h"

// What a file of each architecture contains, as tables. A new architecture is one more table.
namespace plait::tools {

// A dimension of a tensor, as a function of the model's.
enum class SynthDim : uint8_t { none, width, query, key_value, fused_qkv, ffn, vocab, context, experts };

enum class SynthFill : uint8_t {
    matrix,  // mean 0, variance 1 / columns: keeps the size of what it multiplies
    norm,    // near 1
    bias,    // near 0
};

using SynthCondition = bool (*)(const SynthSize&);

struct SynthTensor {
    std::string_view name;  // without "blk.N." and with ".weight" or ".bias"
    bool per_layer;
    std::array<SynthDim, 3> shape;  // innermost last, unused ones first
    SynthFill fill;
    bool typed;                // stored in the type asked for, else in F32
    SynthCondition condition;  // whether a model of this size has it
};

struct SynthCount {
    std::string_view key;  // behind "<arch>."
    int64_t SynthSize::*value;
    SynthCondition condition;
};

struct SynthNumber {
    std::string_view key;  // behind "<arch>."
    float value;
};

struct SynthArch {
    std::string_view name;
    bool grouped_heads;  // may have fewer key/value heads than heads
    bool free_head_dim;  // head_dim need not be width / heads
    bool mixture;        // may have experts
    std::span<const SynthCount> counts;
    std::span<const SynthNumber> numbers;
    std::span<const SynthTensor> tensors;
};

// Throws Error listing the known ones.
const SynthArch& find_synth_arch(std::string_view name);

// 1 for none.
int64_t synth_extent(SynthDim dim, const SynthSize& size);

}  // namespace plait::tools
