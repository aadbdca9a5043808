#include "plait/text/tokenizer.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/text/stop_tokens.h"

namespace plait::text {
namespace {

constexpr size_t kLongestText = std::numeric_limits<int32_t>::max();

const PreRule& rule_for(const VocabSpec& spec) {
    if (spec.model != "gpt2")
        throw Error(
            fmt::format("tokenizer model {} is unknown; known: gpt2 (byte-level BPE)", quote(spec.model)));
    return find_pre_rule(spec.pre);
}

bool matched_when_parsing(TokenType type) {
    return type == TokenType::UserDefined || type == TokenType::Control || type == TokenType::Unknown;
}
bool matched_always(TokenType type) { return type == TokenType::UserDefined; }

bool hidden(TokenType type) {
    return type == TokenType::Control || type == TokenType::Unknown || type == TokenType::Unused;
}

MarkedTokens marked(const Vocabulary& vocabulary, bool (*wanted)(TokenType)) {
    std::vector<MarkedTokens::Token> tokens;
    for (int32_t id = 0; id < vocabulary.size(); ++id)
        if (wanted(vocabulary.type(id))) tokens.push_back({vocabulary.bytes(id), id});
    return MarkedTokens(std::move(tokens));
}

int32_t required(std::optional<int32_t> id, std::string_view name) {
    if (!id) throw Error(fmt::format("tokenizer: asked to add {} token, but the model has none", name));
    return *id;
}

}  // namespace

struct Tokenizer::Scratch {
    PreTokenizer::Scratch pre;
    Bpe::Scratch bpe;
};

Tokenizer::Tokenizer(const VocabSpec& spec)
    : rule_(rule_for(spec)),
      vocabulary_(spec),
      pre_tokenizer_(rule_),
      bpe_(vocabulary_, spec.merges),
      user_defined_(marked(vocabulary_, matched_always)),
      all_marked_(marked(vocabulary_, matched_when_parsing)),
      stops_(stop_tokens(vocabulary_)),
      adds_bos_(spec.add_bos.value_or(rule_.adds_bos) && spec.ids.bos),
      adds_eos_(spec.add_eos.value_or(false) && spec.ids.eos) {}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
    if (text.size() > kLongestText)
        throw Error(fmt::format("tokenizer: expected a text below 2 GiB, found {} bytes", text.size()));
    std::vector<int32_t> ids;
    if (options.add_bos) ids.push_back(required(this->ids().bos, "a begin (bos)"));
    Scratch scratch;
    const MarkedTokens& marked = options.parse_special ? all_marked_ : user_defined_;
    size_t done = 0;
    while (const auto match = marked.find(text, done)) {
        encode_plain(text.substr(done, match->start - done), scratch, ids);
        ids.push_back(match->id);
        done = match->end;
    }
    encode_plain(text.substr(done), scratch, ids);
    if (options.add_eos) ids.push_back(required(this->ids().eos, "an end (eos)"));
    return ids;
}

void Tokenizer::encode_plain(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const {
    for (const std::string_view piece : pre_tokenizer_.split(text, scratch.pre)) {
        const auto whole = rule_.whole_tokens ? vocabulary_.find(piece) : std::nullopt;
        if (whole)
            ids.push_back(*whole);
        else
            bpe_.append(piece, scratch.bpe, ids);
    }
}

std::string Tokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
    std::string text;
    for (const int32_t id : ids) text += piece(id, options);
    return text;
}

std::string_view Tokenizer::piece(int32_t id, DecodeOptions options) const {
    const std::string_view bytes = vocabulary_.bytes(id);
    return hidden(vocabulary_.type(id)) && !options.special ? std::string_view() : bytes;
}

}  // namespace plait::text
