#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "plait/collectives/test_members.h"
#include "plait/ir/graph.h"
#include "plait/ir/test_support.h"
#include "plait/plan/cut.h"

// Small models of any form, down to no layer at all, with their data and one step, for tests of how graphs
// are cut. Linked by tests only (plait_test_random_models).
namespace plait::plan::test {

using ir::test::TestTensor;

enum class PositionForm : uint8_t { none, adjacent, halves };
enum class HeadNormForm : uint8_t { none, per_head, by_head, whole };
enum class NetworkForm : uint8_t { gated, fused, plain, experts };
enum class RouterForm : uint8_t { matrix, network };  // a network's logits are a sum of terms

struct AttentionChoices {
    int64_t kv_heads = 1;
    int64_t queries_per_kv = 1;
    int64_t key_width = 2;  // even
    int64_t value_width = 1;
    bool fused = false;
    bool bias = false;
    bool output_bias = false;
    bool clamp = false;
    bool sinks = false;
    bool alibi = false;
    bool soft_cap = false;
    HeadNormForm norms = HeadNormForm::none;
    bool norm_bias = false;  // of layer norms
    PositionForm positions = PositionForm::none;
    bool divisors = false;
    dtype::DType output_type = dtype::DType::F32;
    dtype::DType key_cache = dtype::DType::F32;
    dtype::DType value_cache = dtype::DType::F32;

    int64_t query_heads() const { return kv_heads * queries_per_kv; }
};

struct NetworkChoices {
    NetworkForm form = NetworkForm::plain;
    int64_t inner_width = 1;
    bool bias = false;
    ir::Activation activation = ir::Activation::silu;
    dtype::DType down_type = dtype::DType::F32;
    // Of experts:
    int64_t experts = 1;
    int64_t used = 1;
    bool renormalise = true;
    bool swiglu = false;
    RouterForm router = RouterForm::matrix;
    int64_t shared_width = 0;  // of an expert that every token passes; 0: none
};

// What a model and a step are made from: plain numbers, which a failure prints and shrinks.
struct Choices {
    int64_t width = 1;  // of the stream
    int64_t vocabulary = 1;
    int64_t layers = 1;
    dtype::DType input_type = dtype::DType::F32;  // of matrices that read the stream, and of the token table
    bool tied = false;
    bool learned_positions = false;
    bool embedding_norm = false;
    bool layer_norm = false;  // instead of rms norms
    bool post_norms = false;  // of what each half of a layer made
    bool parallel = false;
    bool second_norm = false;  // of the network, in parallel layers
    bool embedding_scale = false;
    bool residual_scale = false;
    bool logit_scale = false;
    bool logit_cap = false;
    bool logit_bias = false;
    bool taps = false;             // of what a layer made
    bool half_taps = false;        // of what each half of a layer made
    std::vector<int64_t> windows;  // by layer; 0: none
    AttentionChoices attention;
    NetworkChoices network;

    std::vector<ir::test::TestSequence> sequences;
    int64_t spare_tokens = 0;  // of the capacity, and so on
    int64_t spare_outputs = 0;
    bool all_rows = false;  // wanted, instead of each sequence's last
    bool page_copy = false;
    int64_t page_tokens = 1;

    std::vector<double> ratios;
    EmbeddingSplit embedding = EmbeddingSplit::automatic;
    ExpertSplit experts = ExpertSplit::inner;
    uint64_t seed = 0;  // of weights, state and tokens
};

std::ostream& operator<<(std::ostream& os, const Choices& choices);

// What the step asks to be added to the logit of one token.
inline constexpr choice::Change kBias{.id = 0, .bias = 0.5f};

// Outputs of the graph: logits, and candidates made of them.
struct RandomModel {
    Choices choices;
    std::vector<ir::WeightSpec> weights;
    std::vector<ir::StateGroupSpec> groups;
    std::vector<ir::TensorDesc> state;  // over all groups
    ir::Graph graph;
    ir::test::StepSpec step;
    CutOptions cut;

    std::vector<TestTensor> weight_data;
    std::vector<TestTensor> state_data;  // before the step

    int64_t collectives = 0;       // that the rules ask for
    bool normalises_rows = false;  // of all heads, by a norm that does not decompose: refused
    double tolerance = 0;          // normalised error
};

RandomModel make_model(const Choices& choices);

}  // namespace plait::plan::test
