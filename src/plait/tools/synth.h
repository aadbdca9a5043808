#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

// Valid models with random weights: something to measure, test and compare with other programs, of any size
// and without a download. Metadata and tensors are those of real files of the architecture.
namespace plait::tools {

// Dimensions of a model. All are counts; `experts` 0 means a dense feed-forward network.
struct SynthSize {
    int64_t layers;
    int64_t width;
    int64_t heads;
    int64_t kv_heads;
    int64_t head_dim;
    int64_t ffn;
    int64_t vocab;
    int64_t experts;
    int64_t used;  // experts per token
    int64_t ctx;
    int64_t window = 0;  // of local layers; 0: the architecture has none

    friend bool operator==(const SynthSize&, const SynthSize&) = default;
};

// "1b", "tiny", or either (tiny if none) changed by key=value: "layers=3,vocab=300", "1b,layers=2". The keys
// are the members of SynthSize. Not given: kv_heads of the preset (where the architecture groups heads, else
// heads), head_dim = width / heads, used = 2, experts = 8 where the architecture is made of them, and window
// as in real files where it has any. Throws Error for what cannot be a model of that architecture.
SynthSize parse_synth_size(std::string_view arch, std::string_view text);

struct SynthOptions {
    std::string arch = "llama";  // or another of synth_archs/list.cpp
    std::string size = "tiny";
    std::string type =
        "F16";  // of the matrices; norms, biases, positions and expert gates are F32 as in real files
    std::filesystem::path out;
    uint64_t seed = 0;
};

struct SynthResult {
    SynthSize size;
    int64_t parameters;  // of all tensors
    uint64_t bytes;      // of the file
    std::string note;    // a sentence on what the model cannot do (spell every text, say), or empty
};

// Throws Error unless arch, size and type are known and go together. Writes nothing.
void check_synth(const SynthOptions& options);

// Writes the model; the file appears only when whole. Streams: needs memory for a few rows. The bytes depend
// on the options alone. Throws Error.
SynthResult synth(const SynthOptions& options);

}  // namespace plait::tools
