#include "plait/text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <span>
#include <string>

#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/text/byte_alphabet.h"
#include "plait/text/sentencepiece_spelling.h"
#include "plait/text/turn_ends.h"

namespace plait::text {
namespace {

constexpr int32_t kFree = -1;

void check_lengths(const VocabSpec& spec) {
    const size_t tokens = spec.tokens.size();
    if (tokens == 0) throw Error("tokenizer.ggml.tokens: expected a list of tokens, found none");
    if (tokens > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
        throw Error(
            fmt::format("tokenizer.ggml.tokens: {} tokens are more than ids of 31 bits can name", tokens));
    if (!spec.token_types.empty() && spec.token_types.size() != tokens)
        throw Error(fmt::format("tokenizer.ggml.token_type: expected {} numbers, one per token, found {}",
                                tokens, spec.token_types.size()));
    if (!spec.scores.empty() && spec.scores.size() != tokens)
        throw Error(fmt::format("tokenizer.ggml.scores: expected {} numbers, one per token, found {}", tokens,
                                spec.scores.size()));
}

void check_special(std::optional<int32_t> id, std::string_view name, size_t tokens) {
    if (id && (*id < 0 || static_cast<size_t>(*id) >= tokens))
        throw Error(
            fmt::format("tokenizer.ggml.{}_token_id: the token is {}, but the vocabulary has {} tokens", name,
                        *id, tokens));
}

void check_specials(const SpecialIds& ids, size_t tokens) {
    check_special(ids.bos, "bos", tokens);
    check_special(ids.eos, "eos", tokens);
    check_special(ids.eot, "eot", tokens);
    check_special(ids.eom, "eom", tokens);
    check_special(ids.unknown, "unknown", tokens);
}

TokenType stated_type(const VocabSpec& spec, size_t id, Spelling spelling) {
    if (spec.token_types.empty()) {
        const bool byte = spelling == Spelling::SentencePiece && spelled_byte(spec.tokens[id]);
        return byte ? TokenType::Byte : TokenType::Normal;
    }
    const int32_t type = spec.token_types[id];
    if (type < static_cast<int32_t>(TokenType::Normal) || type > static_cast<int32_t>(TokenType::Byte))
        throw Error(
            fmt::format("tokenizer.ggml.token_type: token {} has type {}, expected 1 to 6", id, type));
    return static_cast<TokenType>(type);
}

TokenType type_of(const VocabSpec& spec, size_t id, Spelling spelling) {
    const TokenType stated = stated_type(spec, id, spelling);
    return is_turn_end(spec.tokens[id]) ? TokenType::Control : stated;
}

bool is_structure(TokenType type) { return type == TokenType::Control || type == TokenType::Unknown; }

// Both append what the token stands for and say whether it is text.

bool append_from_byte_alphabet(TokenType type, std::string_view token, std::string& bytes) {
    const bool verbatim = is_structure(type) || type == TokenType::UserDefined;
    if (!verbatim && append_alphabet_bytes(token, bytes)) return true;
    bytes += token;
    return false;
}

bool append_from_sentencepiece(TokenType type, std::string_view token, std::string& bytes) {
    if (is_structure(type)) {
        bytes += token;
        return false;
    }
    if (type == TokenType::Byte) {
        const auto byte = spelled_byte(token);
        if (!byte)
            throw Error(fmt::format(
                "tokenizer.ggml.tokens: expected a byte token to be written <0x00> to <0xFF>, found {}",
                quote(token)));
        bytes += *byte;
        return false;
    }
    append_with_spaces(token, bytes);
    // Encoded text has U+2581 for every space, so a token with a plain one is no part of it.
    return token.find(' ') == std::string_view::npos;
}

SpecialIds with_defaults(const VocabSpec& spec, std::span<const TokenType> types) {
    const auto control = [&](size_t id) -> std::optional<int32_t> {
        if (id >= types.size() || types[id] != TokenType::Control) return std::nullopt;
        return static_cast<int32_t>(id);
    };
    SpecialIds ids = spec.ids;
    if (!ids.bos) ids.bos = control(1);
    if (!ids.eos) ids.eos = control(2);
    const auto unknown = std::ranges::find(types, TokenType::Unknown);
    if (!ids.unknown && unknown != types.end()) ids.unknown = static_cast<int32_t>(unknown - types.begin());
    return ids;
}

}  // namespace

Vocabulary::Vocabulary(const VocabSpec& spec, Spelling spelling) {
    check_lengths(spec);
    check_specials(spec.ids, spec.tokens.size());
    store_tokens(spec, spelling);
    index_tokens();
    ids_ = spelling == Spelling::SentencePiece ? with_defaults(spec, types_) : spec.ids;
}

void Vocabulary::store_tokens(const VocabSpec& spec, Spelling spelling) {
    types_.reserve(spec.tokens.size());
    is_text_.reserve(spec.tokens.size());
    starts_.reserve(spec.tokens.size() + 1);
    const auto append =
        spelling == Spelling::SentencePiece ? append_from_sentencepiece : append_from_byte_alphabet;
    std::string bytes;
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
        const TokenType type = type_of(spec, id, spelling);
        bytes.clear();
        types_.push_back(type);
        is_text_.push_back(append(type, spec.tokens[id], bytes));
        starts_.push_back(bytes_.size());
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    starts_.push_back(bytes_.size());
}

void Vocabulary::index_tokens() {
    slots_.assign(std::bit_ceil(types_.size() + types_.size() / 2 + 2), kFree);
    for (int32_t id = 0; id < size(); ++id)
        if (is_text_[id] && !bytes(id).empty()) slots_[slot_of(bytes(id))] = id;
}

size_t Vocabulary::slot_of(std::string_view bytes) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = std::hash<std::string_view>()(bytes) & mask;
    while (slots_[slot] != kFree && this->bytes(slots_[slot]) != bytes) slot = (slot + 1) & mask;
    return slot;
}

void Vocabulary::check(int32_t id) const {
    if (id < 0 || id >= size())
        throw Error(fmt::format("token {} does not exist: the vocabulary has {} tokens", id, size()));
}

std::string_view Vocabulary::bytes(int32_t id) const {
    check(id);
    return {bytes_.data() + starts_[id], starts_[id + 1] - starts_[id]};
}

TokenType Vocabulary::type(int32_t id) const {
    check(id);
    return types_[id];
}

std::optional<int32_t> Vocabulary::find(std::string_view bytes) const {
    const int32_t id = slots_[slot_of(bytes)];
    return id == kFree ? std::nullopt : std::optional(id);
}

}  // namespace plait::text
