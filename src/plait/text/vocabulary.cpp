#include "plait/text/vocabulary.h"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "plait/base/error.h"
#include "plait/text/byte_alphabet.h"
#include "plait/text/turn_ends.h"

namespace plait::text {
namespace {

void check_lengths(const VocabSpec& spec) {
    const size_t tokens = spec.tokens.size();
    if (tokens == 0) throw Error("tokenizer: expected a list of tokens, found none");
    if (tokens > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
        throw Error(fmt::format("tokenizer: {} tokens are more than ids of 31 bits can name", tokens));
    if (!spec.token_types.empty() && spec.token_types.size() != tokens)
        throw Error(fmt::format("tokenizer: expected {} token types, one per token, found {}", tokens,
                                spec.token_types.size()));
    if (!spec.scores.empty() && spec.scores.size() != tokens)
        throw Error(fmt::format("tokenizer: expected {} scores, one per token, found {}", tokens,
                                spec.scores.size()));
}

void check_special(std::optional<int32_t> id, std::string_view name, size_t tokens) {
    if (id && (*id < 0 || static_cast<size_t>(*id) >= tokens))
        throw Error(fmt::format("tokenizer: the {} token is {}, but the vocabulary has {} tokens", name, *id,
                                tokens));
}

void check_specials(const SpecialIds& ids, size_t tokens) {
    check_special(ids.bos, "begin (bos)", tokens);
    check_special(ids.eos, "end (eos)", tokens);
    check_special(ids.eot, "end-of-turn (eot)", tokens);
    check_special(ids.eom, "end-of-message (eom)", tokens);
    check_special(ids.unknown, "unknown", tokens);
    check_special(ids.padding, "padding", tokens);
}

TokenType stated_type(const VocabSpec& spec, size_t id) {
    if (spec.token_types.empty()) return TokenType::Normal;
    const int32_t type = spec.token_types[id];
    if (type < static_cast<int32_t>(TokenType::Normal) || type > static_cast<int32_t>(TokenType::Byte))
        throw Error(fmt::format("tokenizer: token {} has type {}, expected 1 to 6", id, type));
    return static_cast<TokenType>(type);
}

TokenType type_of(const VocabSpec& spec, size_t id) {
    const TokenType stated = stated_type(spec, id);
    return is_turn_end(spec.tokens[id]) ? TokenType::Control : stated;
}

bool written_verbatim(TokenType type) {
    return type == TokenType::Control || type == TokenType::Unknown || type == TokenType::UserDefined;
}

}  // namespace

Vocabulary::Vocabulary(const VocabSpec& spec) : ids_(spec.ids) {
    check_lengths(spec);
    check_specials(spec.ids, spec.tokens.size());
    store_tokens(spec);
    index_tokens();
}

void Vocabulary::store_tokens(const VocabSpec& spec) {
    types_.reserve(spec.tokens.size());
    byte_level_.reserve(spec.tokens.size());
    starts_.reserve(spec.tokens.size() + 1);
    std::string decoded;
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
        const TokenType type = type_of(spec, id);
        decoded.clear();
        const bool byte_level = !written_verbatim(type) && append_alphabet_bytes(spec.tokens[id], decoded);
        const std::string_view bytes = byte_level ? decoded : spec.tokens[id];
        types_.push_back(type);
        byte_level_.push_back(byte_level);
        starts_.push_back(bytes_.size());
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    starts_.push_back(bytes_.size());
}

void Vocabulary::index_tokens() {
    id_of_.reserve(types_.size());
    for (int32_t id = 0; id < size(); ++id)
        if (byte_level_[id] && !bytes(id).empty()) id_of_.insert_or_assign(bytes(id), id);
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
    const auto found = id_of_.find(bytes);
    return found == id_of_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace plait::text
