#include "plait/models/decoder_parameters.h"

#include "plait/base/ensure.h"

namespace plait::models {
namespace {

float read_epsilon(const KeyReader& keys, NormKind kind) {
    switch (kind) {
        case NormKind::rms:
            return keys.positive("attention.layer_norm_rms_epsilon");
        case NormKind::layer:
            return keys.positive("attention.layer_norm_epsilon");
    }
    ENSURE(false, "every kind of norm has an epsilon");
}

void read_positions(const KeyReader& keys, const DecoderForm& form, const ModelOptions& options,
                    DecoderParameters& parameters) {
    if (form.attention.linear_biases)
        parameters.max_alibi_bias = keys.positive_or_zero("attention.max_alibi_bias");
    if (!form.rotary) return;
    const bool by_context = form.rotary->divisors == RopeDivisors::by_context;
    const int64_t key_width = parameters.attention.key_width;
    const int64_t trained = parameters.size.context;
    parameters.rope =
        by_context ? read_rope_with_divisors(keys, key_width, trained) : read_rope(keys, key_width, trained);
    if (by_context) {
        const int64_t original = keys.count_or("rope.scaling.original_context_length", trained);
        parameters.long_context = options.context > original;
    }
}

// A window that holds the whole context is none.
int64_t read_window(const KeyReader& keys, const ModelOptions& options) {
    const int64_t window = keys.count_or_zero("attention.sliding_window");
    return window < options.context ? window : 0;
}

std::optional<ExpertSizes> read_expert_sizes(const KeyReader& keys, const ExpertForm& form,
                                             int64_t inner_width) {
    if (form.presence == Presence::absent) return std::nullopt;
    const auto counts = form.presence == Presence::required ? require_experts(keys) : read_experts(keys);
    if (!counts) return std::nullopt;
    return ExpertSizes{
        .counts = *counts,
        .inner_width = form.own_width ? read_expert_width(keys, *counts, inner_width) : inner_width,
        .shared_width = form.shared ? keys.count_or("expert_shared_feed_forward_length", inner_width) : 0};
}

bool read_parallel(const KeyReader& keys, Residual residual) {
    switch (residual) {
        case Residual::sequential:
            return false;
        case Residual::parallel:
            return true;
        case Residual::parallel_if_so:
            return keys.flag("use_parallel_residual");
    }
    ENSURE(false, "every residual is parallel or not");
}

float read_logit_scale(const KeyReader& keys, ScaleForm::Logits logits) {
    switch (logits) {
        case ScaleForm::Logits::unscaled:
            return 1.0f;
        case ScaleForm::Logits::multiplied:
            return keys.positive("logit_scale");
        case ScaleForm::Logits::divided:
            return 1.0f / keys.positive("logit_scale");
    }
    ENSURE(false, "every way to scale logits has a factor");
}

void read_scales(const KeyReader& keys, const ScaleForm& form, DecoderParameters& parameters) {
    if (form.embedding) parameters.embedding_scale = keys.positive("embedding_scale");
    if (form.attention) parameters.attention_scale = keys.positive("attention.scale");
    if (form.residual) parameters.residual_scale = keys.positive("residual_scale");
    parameters.logit_scale = read_logit_scale(keys, form.logits);
}

}  // namespace

DecoderParameters read_decoder_parameters(const KeyReader& keys, const DecoderForm& form,
                                          const ModelOptions& options) {
    DecoderParameters parameters;
    parameters.size = read_stack_size(keys);
    parameters.vocabulary = read_vocabulary(keys);
    parameters.attention = read_grouped_heads(keys, parameters.size.width);
    parameters.epsilon = read_epsilon(keys, form.norm.kind);
    read_positions(keys, form, options, parameters);
    if (form.attention.window) parameters.window = read_window(keys, options);
    if (form.attention.clamp) parameters.clamp = keys.positive_or_zero("attention.clamp_kqv");
    parameters.experts = read_expert_sizes(keys, form.experts, parameters.size.inner_width);
    parameters.parallel = read_parallel(keys, form.residual);
    read_scales(keys, form.scales, parameters);
    return parameters;
}

}  // namespace plait::models
