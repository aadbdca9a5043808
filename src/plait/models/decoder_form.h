#pragma once

#include <memory>
#include <optional>

#include "plait/ir/ops/elementwise.h"
#include "plait/ir/ops/rope.h"
#include "plait/models/blocks/norm.h"
#include "plait/models/hyperparameters.h"
#include "plait/models/model.h"
#include "plait/models/weight_table.h"

// Decoder-only transformers (Vaswani et al. 2017; Radford et al. 2018): a stack of layers that each add what
// attention and a feed-forward network make of the vector to it. Most published models are this with a few
// choices made differently. A form is those choices, so an architecture is a form; sizes and numbers come
// from the file.
namespace plait::models {

// Where frequency divisors come from.
enum class RopeDivisors : uint8_t {
    none,
    optional,    // tensor rope_freqs, if the file has it (Llama 3.1 and later)
    by_context,  // tensors rope_factors_short and _long, if the file has them: the latter for a context
                 // longer than rope.scaling.original_context_length (Ding et al. 2024)
};

struct RotaryForm {
    ir::RopePairs pairs = ir::RopePairs::halves;
    RopeDivisors divisors = RopeDivisors::none;
    int64_t unrotated_period = 0;  // layers period - 1, 2 * period - 1, ... are not rotated; 0: all are
};

enum class QueryKeyNorms : uint8_t {
    none,
    per_head,  // each head by itself, all with one weight [width of a head]
    by_head,  // each head by itself, with its own row of a weight [heads, width of a head]; optional in files
    whole,    // all heads together [heads * width of a head]
};

struct AttentionForm {
    bool fused_projection = false;  // one tensor whose rows are [Q | K | V]
    Presence projection_bias = Presence::absent;
    Presence output_bias = Presence::absent;
    QueryKeyNorms norms = QueryKeyNorms::none;
    bool clamp = false;          // projections to +-attention.clamp_kqv, if the file has that
    bool linear_biases = false;  // by distance, attention.max_alibi_bias at most (Press et al. 2022)
    bool window = false;         // of attention.sliding_window tokens, if the file has that
};

enum class FfnKind : uint8_t {
    gated,        // down(activation(gate(x)) * up(x))
    fused_gated,  // the same with one tensor ffn_up whose rows are [gate | up]
    plain,        // down(activation(up(x)))
};

struct FfnForm {
    FfnKind kind = FfnKind::gated;
    ir::Activation activation = ir::Activation::silu;
    Presence bias = Presence::absent;
};

// Experts in place of the feed-forward network.
struct ExpertForm {
    Presence presence = Presence::absent;
    bool own_width = false;  // expert_feed_forward_length, else feed_forward_length
    bool renormalise = true;
    bool shared = false;  // and one that every token passes
};

// How a layer adds up.
enum class Residual : uint8_t {
    sequential,      // x + attention(norm(x)), and to that ffn(its norm)
    parallel,        // x + attention(norm(x)) + ffn(the same norm(x))
    parallel_if_so,  // as use_parallel_residual says: sequential, or parallel with a norm for each half
};

// Constants in the file that values are multiplied with.
struct ScaleForm {
    bool embedding = false;  // by embedding_scale
    bool attention = false;  // scores, by attention.scale instead of 1 / sqrt(width of a head)
    bool residual = false;   // what each half of a layer adds, by residual_scale
    enum class Logits : uint8_t {
        unscaled,
        multiplied,
        divided
    } logits = Logits::unscaled;  // by logit_scale
};

struct DecoderForm {
    NormForm norm;
    std::optional<RotaryForm> rotary;
    Presence learned_positions = Presence::absent;  // a table: no position beyond it
    AttentionForm attention;
    FfnForm ffn;
    ExpertForm experts;
    Residual residual = Residual::sequential;
    ScaleForm scales;
};

// A model of that form. Throws as load_model() does.
std::unique_ptr<Model> load_decoder(const KeyReader& keys, const DecoderForm& form,
                                    const ModelOptions& options);

}  // namespace plait::models
