#include "plait/models/hyperparameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/base/error.h"
#include "plait/base/quote.h"

namespace plait::models {
namespace {

constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();
constexpr const char* kTokens = "tokenizer.ggml.tokens";

// What heads add up to; both factors are counts, so the product fits, but it is a number of features too.
void check_features(const KeyReader& keys, std::string_view heads_name, int64_t heads, int64_t width) {
    if (heads * width <= kMaxCount) return;
    keys.refuse(heads_name, fmt::format("at most {} heads of {} features", kMaxCount / width, width),
                fmt::to_string(heads));
}

void check_features(const KeyReader& keys, const AttentionShape& shape) {
    check_features(keys, "attention.head_count", shape.query_heads, shape.key_width);
    check_features(keys, "attention.head_count", shape.query_heads, shape.value_width);
}

int64_t even_head_width(const KeyReader& keys, int64_t width, int64_t heads) {
    if (width % heads != 0) {
        keys.refuse("attention.head_count", fmt::format("a divisor of the width {}", width),
                    fmt::to_string(heads));
    }
    return width / heads;
}

int64_t head_width(const KeyReader& keys, std::string_view name, int64_t width, int64_t heads) {
    return keys.contains(name) ? keys.count(name) : even_head_width(keys, width, heads);
}

constexpr const char* kScalingType = "rope.scaling.type";

ir::RopeScaling read_scaling_type(const KeyReader& keys) {
    const std::string_view type = keys.text_or(kScalingType, "linear");
    if (type == "none") return ir::RopeScaling::none;
    if (type == "linear") return ir::RopeScaling::linear;
    if (type == "yarn") return ir::RopeScaling::yarn;
    keys.refuse(kScalingType, "none, linear or yarn", quote(type));
}

void read_yarn(const KeyReader& keys, int64_t trained_context, ir::RopeAngles& rope) {
    rope.original_context = keys.count_or("rope.scaling.original_context_length", trained_context);
    rope.extrapolation = keys.fraction_or("rope.scaling.yarn_ext_factor", rope.extrapolation);
    rope.attention_factor *= keys.positive_or("rope.scaling.yarn_attn_factor", 1.0f);
    rope.beta_slow = keys.positive_or("rope.scaling.yarn_beta_slow", rope.beta_slow);
    rope.beta_fast = keys.positive_or("rope.scaling.yarn_beta_fast", rope.beta_fast);
    if (rope.beta_fast < rope.beta_slow) {
        keys.refuse("rope.scaling.yarn_beta_fast", fmt::format("at least beta_slow, {}", rope.beta_slow),
                    fmt::to_string(rope.beta_fast));
    }
}

int64_t read_rope_dims(const KeyReader& keys, int64_t key_width) {
    constexpr const char* kName = "rope.dimension_count";
    const int64_t dims = keys.count_or(kName, key_width);
    if (dims % 2 != 0 || dims > key_width)
        keys.refuse(kName, fmt::format("an even number up to the head width {}", key_width),
                    fmt::to_string(dims));
    return dims;
}

ir::RopeAngles read_unscaled_rope(const KeyReader& keys, int64_t key_width) {
    const ir::RopeAngles rope{.dims = read_rope_dims(keys, key_width),
                              .base = keys.base_or("rope.freq_base", 10000.0f),
                              .attention_factor = keys.positive_or("rope.scaling.attn_factor", 1.0f)};
    return rope;
}

}  // namespace

std::string KeyReader::key(std::string_view name) const { return fmt::format("{}.{}", architecture_, name); }

void KeyReader::refuse(std::string_view name, std::string_view expected, std::string_view found) const {
    throw Error(fmt::format("{}: metadata key {}: expected {}, found {}", file_.source(), quote(key(name)),
                            expected, found));
}

bool KeyReader::contains(std::string_view name) const { return file_.metadata().contains(key(name)); }

int64_t KeyReader::checked_count(std::string_view name, int64_t value) const {
    if (value < 1 || value > kMaxCount)
        refuse(name, fmt::format("a number from 1 to {}", kMaxCount), fmt::to_string(value));
    return value;
}

int64_t KeyReader::count(std::string_view name) const {
    return checked_count(name, file_.metadata().get<int64_t>(key(name)));
}

int64_t KeyReader::count_or(std::string_view name, int64_t fallback) const {
    return contains(name) ? count(name) : fallback;
}

int64_t KeyReader::count_or_zero(std::string_view name) const {
    return file_.metadata().get_or<int64_t>(key(name), 0) == 0 ? 0 : count(name);
}

float KeyReader::checked_positive(std::string_view name, float value) const {
    if (!std::isfinite(value) || value <= 0.0f) refuse(name, "a number above 0", fmt::to_string(value));
    return value;
}

float KeyReader::positive(std::string_view name) const {
    return checked_positive(name, file_.metadata().get<float>(key(name)));
}

float KeyReader::positive_or(std::string_view name, float fallback) const {
    return contains(name) ? positive(name) : fallback;
}

float KeyReader::positive_or_zero(std::string_view name) const {
    return file_.metadata().get_or<float>(key(name), 0.0f) == 0.0f ? 0.0f : positive(name);
}

float KeyReader::base_or(std::string_view name, float fallback) const {
    const float base = positive_or(name, fallback);
    if (base <= 1.0f) refuse(name, "a number above 1", fmt::to_string(base));
    return base;
}

std::optional<std::vector<bool>> KeyReader::flags_optional(std::string_view name) const {
    const gguf::Value* value = file_.metadata().find(key(name));
    if (value == nullptr || value->type() != gguf::ValueType::Array) return std::nullopt;
    return file_.metadata().array<bool>(key(name)).to_vector();
}

bool KeyReader::flag(std::string_view name) const { return file_.metadata().get<bool>(key(name)); }

float KeyReader::fraction_or(std::string_view name, float fallback) const {
    const float value = file_.metadata().get_or<float>(key(name), fallback);
    if (!(value >= 0.0f && value <= 1.0f)) refuse(name, "a number from 0 to 1", fmt::to_string(value));
    return value;
}

std::string_view KeyReader::text_or(std::string_view name, std::string_view fallback) const {
    return file_.metadata().get_or<std::string_view>(key(name), fallback);
}

std::string KeyReader::model_name() const {
    return std::string(file_.metadata().get_or<std::string_view>("general.name", ""));
}

bool KeyReader::has_tokens() const { return file_.metadata().contains(kTokens); }

int64_t KeyReader::token_count() const {
    const size_t tokens = file_.metadata().strings(kTokens).size();
    if (tokens < 1 || tokens > static_cast<size_t>(kMaxCount)) {
        throw Error(fmt::format("{}: metadata key '{}': expected 1 to {} tokens, found {}", file_.source(),
                                kTokens, kMaxCount, tokens));
    }
    return static_cast<int64_t>(tokens);
}

StackSize read_stack_size(const KeyReader& keys, std::string_view inner_width) {
    // Architectures keep a list of layers before they look for tensors: a file must not decide its size.
    constexpr int64_t kMaxLayers = 1 << 16;
    if (const int64_t layers = keys.count("block_count"); layers > kMaxLayers) {
        keys.refuse("block_count", fmt::format("at most {} layers", kMaxLayers), fmt::to_string(layers));
    }
    return {.layers = keys.count("block_count"),
            .context = keys.count("context_length"),
            .width = keys.count("embedding_length"),
            .inner_width = keys.count(inner_width)};
}

int64_t read_vocabulary(const KeyReader& keys) {
    constexpr const char* kName = "vocab_size";
    return !keys.has_tokens() && keys.contains(kName) ? keys.count(kName) : keys.token_count();
}

AttentionShape read_grouped_heads(const KeyReader& keys, int64_t width) {
    const int64_t heads = keys.count("attention.head_count");
    const int64_t kv_heads = keys.count_or("attention.head_count_kv", heads);
    if (heads % kv_heads != 0) {
        keys.refuse("attention.head_count_kv", fmt::format("a divisor of the {} query heads", heads),
                    fmt::to_string(kv_heads));
    }
    const AttentionShape shape{.query_heads = heads,
                               .kv_heads = kv_heads,
                               .key_width = head_width(keys, "attention.key_length", width, heads),
                               .value_width = head_width(keys, "attention.value_length", width, heads)};
    check_features(keys, shape);
    return shape;
}

ir::RopeAngles read_rope(const KeyReader& keys, int64_t key_width, int64_t trained_context) {
    ir::RopeAngles rope = read_unscaled_rope(keys, key_width);
    rope.scaling = read_scaling_type(keys);
    rope.factor = keys.positive_or("rope.scaling.factor", keys.positive_or("rope.scale_linear", 1.0f));
    if (rope.scaling == ir::RopeScaling::yarn) read_yarn(keys, trained_context, rope);
    return rope;
}

ir::RopeAngles read_rope_with_divisors(const KeyReader& keys, int64_t key_width, int64_t trained_context) {
    if (keys.text_or(kScalingType, "longrope") == "longrope") return read_unscaled_rope(keys, key_width);
    return read_rope(keys, key_width, trained_context);
}

int64_t read_expert_width(const KeyReader& keys, const ExpertCounts& experts, int64_t inner_width) {
    return keys.count_or("expert_feed_forward_length", std::max<int64_t>(1, inner_width / experts.used));
}

std::optional<ExpertCounts> read_experts(const KeyReader& keys) {
    if (keys.count_or_zero("expert_count") == 0)
        return std::nullopt;  // some writers give dense models a zero
    return require_experts(keys);
}

ExpertCounts require_experts(const KeyReader& keys) {
    const ExpertCounts experts{.count = keys.count("expert_count"), .used = keys.count("expert_used_count")};
    if (experts.used > experts.count) {
        keys.refuse("expert_used_count", fmt::format("at most the {} experts there are", experts.count),
                    fmt::to_string(experts.used));
    }
    return experts;
}

std::vector<int64_t> read_windows(const KeyReader& keys, int64_t layers, int64_t window,
                                  int64_t usual_period) {
    constexpr const char* kName = "attention.sliding_window_pattern";
    std::vector<int64_t> windows(static_cast<size_t>(layers), window);
    if (const auto flags = keys.flags_optional(kName)) {
        if (flags->size() != windows.size())
            keys.refuse(kName, fmt::format("a flag for each of {} layers", layers),
                        fmt::to_string(flags->size()));
        for (size_t layer = 0; layer < windows.size(); ++layer) windows[layer] = (*flags)[layer] ? window : 0;
        return windows;
    }
    const int64_t period = keys.count_or(kName, usual_period);
    for (int64_t layer = period - 1; layer < layers; layer += period) windows[static_cast<size_t>(layer)] = 0;
    return windows;
}

}  // namespace plait::models
