#include "plait/text/small_vocabulary.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plait/base/ensure.h"

namespace plait::text {
namespace {

SmallVocabulary load() {
    std::ifstream file(PLAIT_SOURCE_DIR "/tests/golden/text/small_bpe.json");
    const auto json = nlohmann::json::parse(file);
    SmallVocabulary small{
        .tokens = json["tokens"], .token_types = json["token_types"], .merges = json["merges"], .cases = {}};
    for (const auto& item : json["cases"])
        small.cases.push_back({item["pre"], item["text"], item["parse_special"], item["ids"]});
    return small;
}

}  // namespace

VocabSpec SmallVocabulary::spec(std::string_view pre) const {
    const int32_t end = id("<|endoftext|>");
    return {.model = "gpt2",
            .pre = pre,
            .tokens = {tokens.begin(), tokens.end()},
            .token_types = token_types,
            .merges = {merges.begin(), merges.end()},
            .scores = {},
            .ids = {.bos = end, .eos = end}};
}

int32_t SmallVocabulary::id(std::string_view token) const {
    const auto found = std::ranges::find(tokens, token);
    ENSURE(found != tokens.end(), token);
    return static_cast<int32_t>(found - tokens.begin());
}

const SmallVocabulary& small_vocabulary() {
    static const SmallVocabulary small = load();
    return small;
}

}  // namespace plait::text
