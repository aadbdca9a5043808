#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/gguf/file.h"
#include "plait/ir/graph.h"
#include "plait/ir/weights.h"

// What an architecture says about one model file: weights with roles, state groups, and the graph for a
// capacity. Mathematics only: no device, no plan, no rank.
namespace plait::models {

struct ModelOptions {
    int64_t context = 0;                    // tokens per sequence; decides between RoPE factor sets; > 0
    ir::DType key_type = ir::DType::F16;    // format of cached keys
    ir::DType value_type = ir::DType::F16;  // format of cached values
    bool warn = true;                       // about tensors of the file that the architecture does not read
};

// Page geometry that the engine chose, one entry per state group.
struct StatePages {
    int64_t page_tokens = 0;
    int64_t pages = 0;                   // in the pool
    int64_t max_pages_per_sequence = 0;  // in one step
};

struct GraphOptions {
    ir::Capacity capacity;
    std::span<const StatePages> pages;  // by state group
    int64_t candidates = 0;             // how many of each row of logits are put out; 0: logits alone
    bool taps = false;                  // a Tap behind every layer: the layer's output, named "blk.<i>.out"
};

// The numbers people ask for.
struct ModelSummary {
    std::string architecture;
    std::string name;  // general.name, may be empty
    int64_t layers = 0;
    int64_t width = 0;
    int64_t vocabulary = 0;
    int64_t trained_context = 0;
    int64_t max_context = 0;  // hard limit (absolute position table); 0 = none
};

// Immutable after loading; any thread may build graphs.
class Model {
  public:
    virtual ~Model() = default;

    virtual const ModelSummary& summary() const = 0;
    // Index in this list = weight index in graphs. Names are tensors of the file.
    virtual std::span<const ir::WeightSpec> weights() const = 0;
    // State index in graphs = place in the concatenation of the groups' tensors.
    virtual std::span<const ir::StateGroupSpec> state_groups() const = 0;
    // Outputs: logits F32 [outputs, vocabulary] and, if asked for, what ir::SampleCandidates makes of them.
    virtual ir::Graph build(const GraphOptions& options) const = 0;
};

// Loads the architecture that the file names. Throws Error naming key, tensor or architecture when the file
// does not describe a model Plait knows; warns (through the log) about tensors that the architecture does not
// read.
std::unique_ptr<Model> load_model(const gguf::File& file, const ModelOptions& options);

// What the file says without needing options: used to choose a default context. Throws as load_model does.
int64_t trained_context(const gguf::File& file);

}  // namespace plait::models
