#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plait/collectives/lower.h"
#include "plait/dtype/dtype.h"
#include "plait/load/pack_cache.h"
#include "plait/plan/cut.h"
#include "plait/state/paged_state.h"

namespace plait::engine {

// Shown values of a step: `values` is [rows, width] of the layer's output behind which the tap sits. May
// throw Error: the step then fails and leaves no trace.
using TapFn = std::function<void(int tap, const std::string& name, std::span<const float> values)>;

enum class SplitMode : uint8_t {
    automatic,  // tensor over several devices
    none,       // one device runs everything
    tensor,     // every layer is cut over all members
    row,        // matrices alone are cut, the main device does everything else; for comparison
};

// How several devices work on one model; of no effect with one.
struct SplitOptions {
    SplitMode mode = SplitMode::automatic;
    std::vector<double> shares;  // by member; empty: equal, or
    bool by_speed = false;       // as fast as each member is
    int main_device = 0;         // of mode `none`: the one that runs; of `row`: the main one
    plan::EmbeddingSplit embedding = plan::EmbeddingSplit::automatic;
    plan::ExpertSplit experts = plan::ExpertSplit::inner;
    collectives::Way reduce = collectives::Way::automatic;
    bool check_members = false;  // compare what members hold alike, bit for bit; a step fails at a difference
    // For tests: is shown every value on its way from one member to another, and may change it or throw.
    std::function<void(const collectives::Move& move, std::span<std::byte> value)> on_move;
    bool stepped = false;  // the host steps the members, even if they could run together: for tests
};

// A device that is not here, for planning: what it can do is taken from a kind that this build knows.
struct DescribedDevice {
    std::string name;
    std::string kind;    // for people
    std::string like;    // "cpu" or "sim": whose kernels and layouts it has
    std::string memory;  // devices with equal names here have one memory together
    int64_t memory_bytes = 0;
    int threads = 1;
    int node = -1;  // the NUMA node that it is, if it is one: nothing is used where a file has it
};

// What to run, on what, and how large. Everything a person can ask of an engine; defaults are those of the
// command line.
struct EngineOptions {
    std::string model;  // path
    std::string devices = "cpu";
    std::vector<DescribedDevice> described;  // plan for these instead of `devices`; nothing can run on them
    SplitOptions split;
    int threads = 0;            // of all CPU devices; 0: every usable core
    std::string simd = "best";  // a level's name (backends/cpu/simd/select.h)
    bool exact = false;         // F32 activations
    bool repack = true;
    bool use_mapping = true;
    load::PackCacheOptions pack_cache;  // used only with use_mapping

    int64_t context = -1;  // tokens per sequence; 0: as trained; -1: the smallest of trained, 8192 and what
                           // half of the free memory holds
    std::string context_reason = "as asked";  // where `context` comes from, for people
    int64_t batch = 2048;       // tokens a caller hands over at once (-b); bounds the micro-batch
    int64_t micro_batch = 512;  // tokens per step
    int max_sequences = 1;
    int64_t max_outputs = 0;  // rows with logits per step; 0: max_sequences
    // Candidates for the next token that a member may hand over instead of its logits, at most the
    // vocabulary; 0: none, tokens are chosen from whole rows.
    int64_t candidates = 256;
    dtype::DType key_type = dtype::DType::F16;
    dtype::DType value_type = dtype::DType::F16;
    int64_t page_tokens = 64;
    int slots = 2;  // sets of step inputs, outputs and scratch; steps take turns

    TapFn tap;  // taps exist in the graph only when this is set
    state::TestOptions testing;
};

}  // namespace plait::engine
