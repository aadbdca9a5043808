#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plait::tools {

// A byte-level BPE vocabulary (`tokenizer.ggml.model` "gpt2") of any size, in this order: the 256 bytes in
// GPT-2's printable spelling, space, line break and the printable ones first; merges of letters, from pairs
// up; begin and end. Below 258 tokens bytes are left out from the back, and text that needs them cannot be
// spelled.
struct SynthVocabulary {
    std::vector<std::string> tokens;
    std::vector<int32_t> types;       // GGUF's numbers: 1 normal, 3 control
    std::vector<std::string> merges;  // "left right"; the product of each is a token, as are its parts
    uint32_t bos;
    uint32_t eos;
    int64_t bytes;  // how many of the 256 there are
};

// size >= 3.
SynthVocabulary synth_vocabulary(int64_t size);

}  // namespace plait::tools
