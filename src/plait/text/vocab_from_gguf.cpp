#include "plait/text/vocab_from_gguf.h"

#include <optional>
#include <string_view>
#include <vector>

#include "plait/gguf/metadata.h"

namespace plait::text {
namespace {

std::vector<std::string_view> strings(const gguf::Metadata& metadata, std::string_view key) {
    const auto found = metadata.strings_optional(key);
    return found ? std::vector<std::string_view>(found->begin(), found->end())
                 : std::vector<std::string_view>();
}

template <class T>
std::vector<T> numbers(const gguf::Metadata& metadata, std::string_view key) {
    const auto found = metadata.array_optional<T>(key);
    return found ? found->to_vector() : std::vector<T>();
}

SpecialIds special_ids(const gguf::Metadata& metadata) {
    const auto id = [&](std::string_view key) { return metadata.get_optional<int32_t>(key); };
    return {.bos = id("tokenizer.ggml.bos_token_id"),
            .eos = id("tokenizer.ggml.eos_token_id"),
            .eot = id("tokenizer.ggml.eot_token_id"),
            .eom = id("tokenizer.ggml.eom_token_id"),
            .unknown = id("tokenizer.ggml.unknown_token_id")};
}

// Phi-3's files say nothing of it. Later models of that architecture have other tokenizers.
bool special_tokens_strip(const gguf::Metadata& metadata, std::string_view model) {
    return model == "llama" && metadata.get_or<std::string_view>("general.architecture", {}) == "phi3";
}

}  // namespace

VocabSpec vocab_from_gguf(const gguf::File& file) {
    const gguf::Metadata& metadata = file.metadata();
    const auto model = metadata.get<std::string_view>("tokenizer.ggml.model");
    return {.model = model,
            .pre = metadata.get_or<std::string_view>("tokenizer.ggml.pre", {}),
            .tokens = strings(metadata, "tokenizer.ggml.tokens"),
            .token_types = numbers<int32_t>(metadata, "tokenizer.ggml.token_type"),
            .merges = strings(metadata, "tokenizer.ggml.merges"),
            .scores = numbers<float>(metadata, "tokenizer.ggml.scores"),
            .ids = special_ids(metadata),
            .add_bos = metadata.get_optional<bool>("tokenizer.ggml.add_bos_token"),
            .add_eos = metadata.get_optional<bool>("tokenizer.ggml.add_eos_token"),
            .add_space_prefix = metadata.get_optional<bool>("tokenizer.ggml.add_space_prefix"),
            .special_tokens_strip = special_tokens_strip(metadata, model)};
}

}  // namespace plait::text
