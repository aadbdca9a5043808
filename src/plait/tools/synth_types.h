#pragma once

#include <cstdint>
#include <string_view>

#include "plait/dtype/dtype.h"

// What `--type` of synth may name: a format for all matrices, or one of the mixes that quantisers make.
namespace plait::tools {

struct SynthType {
    std::string_view name;  // any case
    uint32_t file_type;     // `general.file_type` of a file mostly of that type (llama_ftype in llama.h)
    dtype::DType most;
    dtype::DType better;  // of the output, and of attn_v and ffn_down in half of the layers
};

// Throws Error listing the known ones.
const SynthType& find_synth_type(std::string_view name);

// A matrix about to be stored: its name without "blk.N.", where it stands, and the length of its rows.
struct SynthMatrix {
    std::string_view name;
    int64_t layer;
    int64_t layers;
    int64_t columns;
};

// What the matrix is stored as. Rows that are no whole blocks get the format of smaller blocks that
// quantisers fall back on. Throws Error where they have none, naming the matrix as `full_name`.
dtype::DType synth_storage(const SynthType& type, const SynthMatrix& matrix, std::string_view full_name);

}  // namespace plait::tools
