#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plait/gguf/file.h"
#include "plait/ir/ops/rope.h"

// Every metadata key that an architecture reads, with its bounds. Keys are "<architecture>.<name>" except the
// last two; names and meanings are those of the GGUF specification (docs/gguf.md in the ggml repository) and
// of its reference writer's list of keys. What is not listed here is not read.
//
//   name                                   value              default            read by
//   block_count                            1 ..               -                  all
//   context_length                         1 ..               -                  all
//   embedding_length                       1 ..               -                  all
//   feed_forward_length                    1 .. one number    -                  all but gpt-oss
//   expert_feed_forward_length             1 .. one number    -                  gpt-oss
//   vocab_size                             1 ..               -                  all without tokens
//   attention.head_count                   1 ..               -                  all
//   attention.head_count_kv                divides heads      head_count         all but gpt2
//   attention.key_length                   1 ..               width / heads      all but gpt2
//   attention.value_length                 1 ..               width / heads      all but gpt2
//   attention.layer_norm_rms_epsilon       > 0                -                  all but gpt2
//   attention.layer_norm_epsilon           > 0                -                  gpt2
//   attention.sliding_window               1 ..               4096 in gemma2     gemma2 gemma3 gpt-oss
//   attn_logit_softcapping                 > 0                50                 gemma2
//   final_logit_softcapping                > 0                30                 gemma2
//   rope.dimension_count                   even, <= key width key width          all but gpt2
//   rope.freq_base                         > 1                10000              all but gpt2
//   rope.scaling.type                      none linear yarn   linear             all but gpt2
//   rope.scaling.factor                    > 0                rope.scale_linear  all but gpt2
//   rope.scale_linear (in old files)       > 0                1                  all but gpt2
//   rope.scaling.attn_factor               > 0                1                  all but gpt2
//   rope.scaling.original_context_length   1 ..               context_length     those, with yarn only
//   rope.scaling.yarn_ext_factor           0 .. 1             1                  those, with yarn only
//   rope.scaling.yarn_attn_factor          > 0                1                  those, with yarn only
//   rope.scaling.yarn_beta_fast            >= beta_slow       32                 those, with yarn only
//   rope.scaling.yarn_beta_slow            > 0                1                  those, with yarn only
//   expert_count                           0 = dense          0, - in gpt-oss    llama gpt-oss
//   expert_used_count                      1 .. expert_count  -                  those, with experts only
//   general.name                           text               ""                 all
//   tokenizer.ggml.tokens                  list of text       -                  all; optional with
//   vocab_size
//
// Counts go up to 2^31 - 1: ids, positions and sizes are int32 in a step.
namespace plait::models {

// Reads the keys of one architecture. Every method throws Error naming file, key, what was expected and what
// was found.
class KeyReader {
  public:
    // `file` outlives the reader.
    KeyReader(const gguf::File& file, std::string_view architecture)
        : file_(file), architecture_(architecture) {}

    const gguf::File& file() const { return file_; }
    const std::string& architecture() const { return architecture_; }

    int64_t count(std::string_view name) const;  // 1 .. 2^31 - 1
    int64_t count_or(std::string_view name, int64_t fallback) const;
    int64_t count_or_zero(std::string_view name) const;  // 0 when absent, and 0 is allowed
    bool contains(std::string_view name) const;
    float positive(std::string_view name) const;  // finite and above zero
    float positive_or(std::string_view name, float fallback) const;
    float fraction_or(std::string_view name, float fallback) const;  // 0 .. 1
    std::string_view text_or(std::string_view name, std::string_view fallback) const;
    std::string model_name() const;
    bool has_tokens() const;      // whether the file has the tokenizer's list
    int64_t token_count() const;  // of that list

    // "<file>: metadata key '<architecture>.<name>': expected <expected>, found <found>".
    [[noreturn]] void refuse(std::string_view name, std::string_view expected, std::string_view found) const;

  private:
    std::string key(std::string_view name) const;
    int64_t checked_count(std::string_view name, int64_t value) const;
    float checked_positive(std::string_view name, float value) const;

    const gguf::File& file_;
    std::string architecture_;
};

struct StackSize {
    int64_t layers = 0;
    int64_t context = 0;      // tokens per sequence in training
    int64_t width = 0;        // of the vector between layers
    int64_t inner_width = 0;  // of the feed-forward network, of each expert
};

struct AttentionShape {
    int64_t query_heads = 0;
    int64_t kv_heads = 0;
    int64_t key_width = 0;  // per head, of queries too
    int64_t value_width = 0;

    int64_t query_features() const { return query_heads * key_width; }
    int64_t key_features() const { return kv_heads * key_width; }
    int64_t value_features() const { return kv_heads * value_width; }
    int64_t output_features() const { return query_heads * value_width; }
};

struct ExpertCounts {
    int64_t count = 0;
    int64_t used = 0;  // per token
};

// `inner_width` is the key of that number.
StackSize read_stack_size(const KeyReader& keys, std::string_view inner_width = "feed_forward_length");
// As many as the tokenizer lists, whatever else the file says; writers pad the list to the rows of the
// embedding, which have to be as many. Files without a tokenizer say it in vocab_size.
int64_t read_vocabulary(const KeyReader& keys);
// As many key/value heads as query heads, which share the width evenly.
AttentionShape read_equal_heads(const KeyReader& keys, int64_t width);
// Grouped heads of widths of their own.
AttentionShape read_grouped_heads(const KeyReader& keys, int64_t width);
ir::RopeAngles read_rope(const KeyReader& keys, int64_t key_width, int64_t trained_context);
// Nothing for a dense model.
std::optional<ExpertCounts> read_experts(const KeyReader& keys);
// Of an architecture that is nothing without experts.
ExpertCounts require_experts(const KeyReader& keys);

}  // namespace plait::models
