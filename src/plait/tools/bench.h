#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/device/device.h"
#include "plait/engine/options.h"
#include "plait/tools/products.h"

namespace plait::tools {

struct BenchOptions {
    int64_t prompt = 512;    // tokens
    int64_t generate = 128;  // tokens
    int64_t depth = 0;       // tokens already in the context before either
    int repetitions = 5;
    bool keep_cache = true;  // as in TextRun
};

// Throws Error for options that make no sense with any model, naming the flag.
void validate(const BenchOptions& bench);

struct Rate {
    double median = 0;
    double min = 0;
    double max = 0;
};
// Of at least one value.
Rate summarise(std::vector<double> values);

// Where a member's time goes in the steps of one pass; no runs where the pass was not asked for.
struct MemberTimes {
    std::string device;
    device::RunTimes prompt;
    device::RunTimes generation;
};

struct BenchResult {
    Rate prompt_tps;  // tokens per second; all zero when not asked for
    Rate generation_tps;
    uint64_t peak_rss_bytes = 0;  // while the model was loaded; what measuring the memory took does not count
    int64_t weights_bytes = 0;    // of the model, as in the file
    int64_t weight_bytes_per_token = 0;  // what generating one token reads of them
    double read_ceiling_before = 0;      // memory reading, bytes per second
    double read_ceiling_after = 0;
    double read_rate = 0;         // weight bytes per second while generating
    double share_of_ceiling = 0;  // of the better ceiling
    ProductReport products;       // of prompts
    // Of passes of their own, since reading clocks takes time; empty where the device cannot tell.
    std::vector<MemberTimes> members;
    int64_t gathered_rows = 0;    // rows of logits that had to be read to choose a token
    std::string greedy_checksum;  // XXH64 of the greedy ids behind a fixed prompt: equal numbers, equal text
    std::string device;           // details of the device that ran
};

// Runs a fixed pseudo-random prompt; needs no tokenizer. The context is what the run needs, unless
// options.context asks for another. Throws Error for options that make no sense and whatever the engine
// throws.
BenchResult bench(const engine::EngineOptions& options, const BenchOptions& bench);

}  // namespace plait::tools
