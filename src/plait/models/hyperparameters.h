#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/gguf/file.h"
#include "plait/ir/ops/rope.h"

// Every metadata key that an architecture reads, with its bounds. Keys are "<architecture>.<name>" except the
// last two; names and meanings are those of the GGUF specification (docs/gguf.md in the ggml repository) and
// of its reference writer's list of keys. What is not listed here is not read.
//
//   name                                   value              default            read by, or with
//   block_count                            1 .. 65536         -                  all
//   context_length                         1 ..               -                  all
//   embedding_length                       1 ..               -                  all
//   feed_forward_length                    1 .. one number    -                  all but gpt-oss
//   vocab_size                             1 ..               -                  files without tokens
//   attention.head_count                   1 ..               -                  all
//   attention.head_count_kv                divides heads      head_count         all
//   attention.key_length                   1 ..               width / heads      all
//   attention.value_length                 1 ..               width / heads      all
//   attention.layer_norm_rms_epsilon       > 0                -                  RMS norms
//   attention.layer_norm_epsilon           > 0                -                  layer norms
//   attention.sliding_window               1 ..               4096 in gemma2     gemma2 gemma3 gpt-oss
//   attention.sliding_window               0 = none           0                  phi3
//   attention.sliding_window_pattern       1 .. (a period),   the usual period   gemma2 gemma3 gpt-oss
//                                          or a flag by layer
//   attention.max_alibi_bias               0 = none           0                  mpt
//   attention.clamp_kqv                    0 = none           0                  mpt
//   attention.scale                        > 0                -                  granite
//   attn_logit_softcapping                 > 0                50                 gemma2
//   final_logit_softcapping                > 0                30                 gemma2
//   embedding_scale                        > 0                -                  granite
//   residual_scale                         > 0                -                  granite
//   logit_scale                            > 0                -                  granite command-r
//   use_parallel_residual                  true or false      -                  gptneox
//   rope.dimension_count                   even, <= key width key width          rotary positions
//   rope.freq_base                         > 1                10000              rotary positions
//   rope.freq_base_swa                     > 1                10000              gemma3, layers with a window
//   rope.scaling.type                      none linear yarn   linear             rotary positions
//       or                                 longrope           longrope           phi3
//   rope.scaling.factor                    > 0                rope.scale_linear  rotary positions
//   rope.scale_linear (in old files)       > 0                1                  rotary positions
//   rope.scaling.attn_factor               > 0                1                  rotary positions
//   rope.scaling.original_context_length   1 ..               context_length     yarn, phi3
//   rope.scaling.yarn_ext_factor           0 .. 1             1                  yarn
//   rope.scaling.yarn_attn_factor          > 0                1                  yarn
//   rope.scaling.yarn_beta_fast            >= beta_slow       32                 yarn
//   rope.scaling.yarn_beta_slow            > 0                1                  yarn
//   expert_count                           1 ..               -                  made of experts
//       or                                 0 = dense          0                  llama
//   expert_used_count                      1 .. expert_count  -                  experts
//   expert_feed_forward_length             1 .. one number    inner / used       qwen2moe qwen3moe
//       or                                                    -                  gpt-oss
//   expert_shared_feed_forward_length      1 .. one number    inner              qwen2moe
//   general.name                           text               ""                 all
//   tokenizer.ggml.tokens                  list of text       vocab_size         all
//
// "inner" is feed_forward_length. Counts go up to 2^31 - 1: ids, positions and sizes are int32 in a step.
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
    float positive_or_zero(std::string_view name) const;         // 0 when absent, and 0 is allowed
    float base_or(std::string_view name, float fallback) const;  // above 1
    bool flag(std::string_view name) const;
    std::optional<std::vector<bool>> flags_optional(std::string_view name) const;  // nothing unless an array
    float fraction_or(std::string_view name, float fallback) const;                // 0 .. 1
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
// Grouped heads of widths of their own.
AttentionShape read_grouped_heads(const KeyReader& keys, int64_t width);
ir::RopeAngles read_rope(const KeyReader& keys, int64_t key_width, int64_t trained_context);
// The same where the file has frequency divisors of its own for short and for long contexts, which
// rope.scaling.type may call longrope: nothing else is scaled then.
ir::RopeAngles read_rope_with_divisors(const KeyReader& keys, int64_t key_width, int64_t trained_context);
// Inner width of each expert where it is not that of a dense network, which experts are as wide as together
// unless the file says otherwise.
int64_t read_expert_width(const KeyReader& keys, const ExpertCounts& experts, int64_t inner_width);
// Nothing for a dense model.
std::optional<ExpertCounts> read_experts(const KeyReader& keys);
// Of an architecture that is nothing without experts.
ExpertCounts require_experts(const KeyReader& keys);
// By layer, how far it looks back; 0: at the whole sequence. Every period-th layer does, the others look at
// `window`; or as the file says of every layer.
std::vector<int64_t> read_windows(const KeyReader& keys, int64_t layers, int64_t window,
                                  int64_t usual_period);

}  // namespace plait::models
