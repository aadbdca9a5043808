#include "plait/text/byte_level.h"

#include <optional>

namespace plait::text {

ByteLevel::ByteLevel(const Vocabulary& vocabulary, const PreRule& rule,
                     std::span<const std::string_view> merges)
    : whole_tokens_(rule.whole_tokens), pre_tokenizer_(rule), bpe_(vocabulary, merges) {}

void ByteLevel::append(const Vocabulary& vocabulary, std::string_view text, Scratch& scratch,
                       std::vector<int32_t>& ids) const {
    for (const std::string_view piece : pre_tokenizer_.split(text, scratch.pre)) {
        const auto whole = whole_tokens_ ? vocabulary.find(piece) : std::nullopt;
        if (whole)
            ids.push_back(*whole);
        else
            bpe_.append(piece, scratch.bpe, ids);
    }
}

}  // namespace plait::text
