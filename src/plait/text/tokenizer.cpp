#include "plait/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/base/quote.h"
#include "plait/text/stop_tokens.h"

namespace plait::text {
namespace {

constexpr size_t kLongestText = std::numeric_limits<int32_t>::max();

struct Algorithm {
    std::string_view model;  // `tokenizer.ggml.model`
    std::string_view description;
    Spelling spelling;
};

constexpr std::array kAlgorithms = {
    Algorithm{"gpt2", "byte-level BPE", Spelling::ByteAlphabet},
    Algorithm{"llama", "SentencePiece BPE", Spelling::SentencePiece},
};

const Algorithm& find_algorithm(std::string_view model) {
    const auto found = std::ranges::find(kAlgorithms, model, &Algorithm::model);
    if (found != kAlgorithms.end()) return *found;
    std::string known;
    for (const Algorithm& algorithm : kAlgorithms)
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", algorithm.model, algorithm.description);
    throw Error(
        fmt::format("tokenizer.ggml.model: tokenizer model {} is unknown; known: {}", quote(model), known));
}

bool is_sentencepiece(const VocabSpec& spec) {
    return find_algorithm(spec.model).spelling == Spelling::SentencePiece;
}

bool wants_space_prefix(const VocabSpec& spec) {
    return is_sentencepiece(spec) && spec.add_space_prefix.value_or(true);
}

bool models_begin_with_bos(const VocabSpec& spec) {
    return is_sentencepiece(spec) || find_pre_rule(spec.pre).adds_bos;
}

std::variant<ByteLevel, SentencePiece> make_model(const VocabSpec& spec, const Vocabulary& vocabulary) {
    if (is_sentencepiece(spec)) return SentencePiece(vocabulary, spec.scores, wants_space_prefix(spec));
    if (spec.merges.empty())
        throw Error("tokenizer.ggml.merges: expected the merges of byte-level BPE, found none");
    if (spec.pre.empty())
        log_warning(
            "the file does not name its pre-tokenizer, so the default one is used; if text comes out poor, "
            "name the right one with --pre NAME");
    return ByteLevel(vocabulary, find_pre_rule(spec.pre), spec.merges);
}

bool matched_when_parsing(TokenType type) {
    return type == TokenType::UserDefined || type == TokenType::Control || type == TokenType::Unknown;
}
bool matched_always(TokenType type) { return type == TokenType::UserDefined; }

bool is_text(TokenType type) { return type == TokenType::Normal || type == TokenType::Byte; }

bool hidden(TokenType type) {
    return type == TokenType::Control || type == TokenType::Unknown || type == TokenType::Unused;
}

// See VocabSpec::special_tokens_strip.
bool strips(std::string_view token) { return token != "<unk>" && token != "<s>" && token != "<|endoftext|>"; }

MarkedTokens marked(const VocabSpec& spec, const Vocabulary& vocabulary, bool (*wanted)(TokenType)) {
    std::vector<MarkedTokens::Token> tokens;
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
        const std::string_view text = vocabulary.bytes(id);
        if (wanted(vocabulary.type(id)))
            tokens.push_back({text, id, spec.special_tokens_strip && strips(text)});
    }
    return MarkedTokens(std::move(tokens));
}

int32_t required(std::optional<int32_t> id, std::string_view name) {
    if (!id) throw Error(fmt::format("tokenizer: asked to add {} token, but the model has none", name));
    return *id;
}

}  // namespace

void override_pre_tokenizer(VocabSpec& spec, std::string_view name) {
    const Algorithm& algorithm = find_algorithm(spec.model);
    if (algorithm.spelling == Spelling::SentencePiece)
        throw Error(
            fmt::format("the model's tokenizer is {} ({}), which has no pre-tokenizer that {} could replace",
                        algorithm.model, algorithm.description, quote(name)));
    spec.pre = name;
}

Tokenizer::Tokenizer(const VocabSpec& spec)
    : vocabulary_(spec, find_algorithm(spec.model).spelling),
      model_(make_model(spec, vocabulary_)),
      user_defined_(marked(spec, vocabulary_, matched_always)),
      all_marked_(marked(spec, vocabulary_, matched_when_parsing)),
      stops_(stop_tokens(vocabulary_)),
      space_prefix_(wants_space_prefix(spec)),
      adds_bos_(spec.add_bos.value_or(models_begin_with_bos(spec)) && ids().bos),
      adds_eos_(spec.add_eos.value_or(false) && ids().eos) {}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
    if (text.size() > kLongestText)
        throw Error(fmt::format("tokenizer: expected a text below 2 GiB, found {} bytes", text.size()));
    std::vector<int32_t> ids;
    if (options.add_bos) ids.push_back(required(this->ids().bos, "a begin (bos)"));
    const MarkedTokens& marked = options.parse_special ? all_marked_ : user_defined_;
    std::visit([&](const auto& model) { append(model, text, marked, ids); }, model_);
    if (options.add_eos) ids.push_back(required(this->ids().eos, "an end (eos)"));
    return ids;
}

// The algorithm sees what lies between two marked tokens.
template <class Algorithm>
void Tokenizer::append(const Algorithm& algorithm, std::string_view text, const MarkedTokens& marked,
                       std::vector<int32_t>& ids) const {
    typename Algorithm::Scratch scratch;
    size_t done = 0;
    while (const auto match = marked.find(text, done)) {
        algorithm.append(vocabulary_, text.substr(done, match->start - done), scratch, ids);
        ids.push_back(match->id);
        done = match->end;
    }
    algorithm.append(vocabulary_, text.substr(done), scratch, ids);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
    std::string text;
    bool at_begin = space_prefix_ && !options.continues;
    for (const int32_t id : ids) {
        std::string_view bytes = piece(id, options);
        if (at_begin && is_text(vocabulary_.type(id)) && bytes.starts_with(' ')) bytes.remove_prefix(1);
        at_begin = at_begin && id == this->ids().bos;
        text += bytes;
    }
    return text;
}

std::string_view Tokenizer::piece(int32_t id, DecodeOptions options) const {
    const std::string_view bytes = vocabulary_.bytes(id);
    return hidden(vocabulary_.type(id)) && !options.special ? std::string_view() : bytes;
}

}  // namespace plait::text
