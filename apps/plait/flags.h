#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plait/engine/options.h"

namespace plait::app {

// How to split over several devices, as it was asked for; with one there is nothing to split.
struct SplitFlags {
    std::string mode;       // empty: not asked for
    std::string embedding;  // empty: not asked for
    std::string experts = "inner";
    std::string exchange = "f32";
    std::string reduce = "auto";
    std::string shares;
    int main_device = 0;
    bool check_members = false;
    bool fast = false;
    bool no_pack_cache = false;
    std::string flash_attention = "auto";
};

// What the flags shared by most commands say. Field by field as in the command line's documentation (--help).
struct CommonFlags {
    engine::EngineOptions engine;          // but for the cache types
    std::optional<dtype::DType> key_type;  // unset: as --exact says
    std::optional<dtype::DType> value_type;
    std::optional<uint64_t> seed;  // unset: draw one
    std::string pre;               // pre-tokenizer to use whatever the file names
    int64_t truncate_prompt = 0;   // keep the last N tokens of a longer prompt; 0: refuse it
    bool keep_cache = true;
    bool verify = false;
    SplitFlags split;
    std::string report;  // path of the JSON report; empty: none
};

struct LogFlags {
    bool verbose = false;
    bool quiet = false;
    std::string file;
};

// Rewrites what CLI11 does not know into what it does: llama.cpp's single-dash flags of several letters (-ub,
// -ctk, -sm, ...) into their double-dash twins, and "-c=40" into "-c 40". The prompt's text, and all behind
// "--", stay as they are.
std::vector<std::string> rewrite_flags(const std::vector<std::string>& arguments);

}  // namespace plait::app
