#include "plait/text/small_vocabulary.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plait/base/ensure.h"

namespace plait::text {
namespace {

SmallVocabulary load(const std::string& name) {
    std::ifstream file(PLAIT_SOURCE_DIR "/tests/golden/text/" + name);
    const auto json = nlohmann::json::parse(file);
    SmallVocabulary small{.tokens = json["tokens"],
                          .token_types = json["token_types"],
                          .merges = json.value("merges", std::vector<std::string>()),
                          .scores = json.value("scores", std::vector<float>()),
                          .cases = {}};
    for (const auto& item : json["cases"])
        for (const auto& variant : item["variants"])
            small.cases.push_back({variant, item["text"], item["parse_special"], item["ids"]});
    return small;
}

void replace_type(std::vector<int32_t>& types, TokenType from, TokenType to) {
    std::ranges::replace(types, static_cast<int32_t>(from), static_cast<int32_t>(to));
}

}  // namespace

VocabSpec SmallVocabulary::spec(std::string_view variant) const {
    VocabSpec spec{.tokens = {tokens.begin(), tokens.end()},
                   .token_types = token_types,
                   .merges = {merges.begin(), merges.end()},
                   .scores = scores};
    if (scores.empty()) {
        spec.model = "gpt2";
        spec.pre = variant;
        spec.ids.bos = spec.ids.eos = id("<|endoftext|>");
    } else {
        spec.model = "llama";
        spec.ids = {.bos = id("<s>"), .eos = id("</s>"), .unknown = id("<unk>")};
        spec.add_space_prefix = variant != "no-prefix";
        if (variant == "no-bytes") replace_type(spec.token_types, TokenType::Byte, TokenType::Unused);
    }
    return spec;
}

int32_t SmallVocabulary::id(std::string_view token) const {
    const auto found = std::ranges::find(tokens, token);
    ENSURE(found != tokens.end(), token);
    return static_cast<int32_t>(found - tokens.begin());
}

std::vector<std::string> SmallVocabulary::variants() const {
    std::vector<std::string> names;
    for (const Case& c : cases)
        if (std::ranges::find(names, c.variant) == names.end()) names.push_back(c.variant);
    return names;
}

const SmallVocabulary& small_vocabulary() {
    static const SmallVocabulary small = load("small_bpe.json");
    return small;
}

const SmallVocabulary& small_sentencepiece() {
    static const SmallVocabulary small = load("small_sentencepiece.json");
    return small;
}

}  // namespace plait::text
