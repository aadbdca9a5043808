// Any bytes as a tokenizer and a text for it, or as a text for the small vocabularies of tests/golden/text.
// The first byte says which; see make_tokenizer_corpus.py for how the rest is read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/base/utf8.h"
#include "plait/text/pre_rules.h"
#include "plait/text/sentencepiece_spelling.h"
#include "plait/text/small_vocabulary.h"
#include "plait/text/stream_decoder.h"
#include "plait/text/tokenizer.h"

namespace {

using namespace plait;
using namespace plait::text;

// The input from its beginning; what is missing at its end reads as zeros.
class Input {
  public:
    Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

    uint8_t byte() {
        const std::string_view taken = take(1);
        return taken.empty() ? 0 : static_cast<uint8_t>(taken[0]);
    }
    std::string_view text() { return take(byte()); }
    std::string_view rest() { return take(rest_.size()); }

    // Zero: unset.
    std::optional<int32_t> id() {
        const int value = byte();
        return value == 0 ? std::nullopt : std::optional<int32_t>(value - 2);
    }
    std::optional<bool> flag() {
        const int value = byte() % 3;
        return value == 0 ? std::nullopt : std::optional<bool>(value == 1);
    }

  private:
    std::string_view take(size_t size) {
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(taken.size());
        return taken;
    }

    std::string_view rest_;
};

VocabSpec read_spec(Input& in) {
    constexpr std::string_view kModels[] = {"gpt2", "llama", "test"};
    VocabSpec spec;
    spec.model = kModels[in.byte() % std::size(kModels)];
    spec.pre = pre_rules()[in.byte() % pre_rules().size()].names.front();
    for (int count = in.byte(); count > 0; --count) spec.tokens.push_back(in.text());
    for (int count = in.byte(); count > 0; --count) spec.token_types.push_back(in.byte());
    for (int count = in.byte(); count > 0; --count) spec.merges.push_back(in.text());
    for (int count = in.byte(); count > 0; --count) spec.scores.push_back(static_cast<float>(in.byte() % 16));
    spec.ids = {.bos = in.id(), .eos = in.id(), .eot = in.id(), .eom = in.id(), .unknown = in.id()};
    spec.add_bos = in.flag();
    spec.add_eos = in.flag();
    spec.add_space_prefix = in.flag();
    spec.special_tokens_strip = in.byte() % 2 == 1;
    return spec;
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    StreamDecoder decoder(tokenizer, {.special = true});
    std::string text;
    for (const int32_t id : ids) text += decoder.push(id);
    return text + decoder.finish();
}

// What holds for any vocabulary and text.
std::string encode_and_decode(const Tokenizer& tokenizer, std::string_view text, bool parse_special) {
    const std::vector<int32_t> ids = tokenizer.encode(text, {.parse_special = parse_special});
    for (const int32_t id : ids) ENSURE(id >= 0 && id < tokenizer.size(), "an id that names a token");
    for (const int32_t id : tokenizer.end_of_generation()) tokenizer.piece(id);
    const std::string shown = streamed(tokenizer, ids);
    ENSURE(valid_prefix(shown) == shown.size(), "what a stream shows is UTF-8");
    return tokenizer.decode(ids, {.special = true});
}

struct Small {
    Tokenizer tokenizer;
    Spelling spelling;
};

// Those whose vocabulary spells any text, so that it comes back.
const std::vector<Small>& small_tokenizers() {
    static const std::vector<Small> all = [] {
        std::vector<Small> made;
        made.reserve(pre_rules().size() + 1);
        for (const PreRule& rule : pre_rules())
            made.push_back({Tokenizer(small_vocabulary().spec(rule.names.front())), Spelling::ByteAlphabet});
        made.push_back({Tokenizer(small_sentencepiece().spec("no-prefix")), Spelling::SentencePiece});
        return made;
    }();
    return all;
}

std::string with_spaces(std::string_view text) {
    std::string bytes;
    append_with_spaces(text, bytes);
    return bytes;
}

void try_text(Input& in) {
    const Small& small = small_tokenizers()[in.byte() % small_tokenizers().size()];
    const bool parse_special = in.byte() % 2 == 1;
    const std::string_view text = in.rest();
    const std::string back = encode_and_decode(small.tokenizer, text, parse_special);
    const bool same =
        small.spelling == Spelling::SentencePiece ? with_spaces(back) == with_spaces(text) : back == text;
    ENSURE(same, "a text comes back");
}

void try_vocabulary(Input& in) {
    try {
        const Tokenizer tokenizer(read_spec(in));
        const bool parse_special = in.byte() % 2 == 1;
        encode_and_decode(tokenizer, in.rest(), parse_special);
    } catch (const Error& error) {
        ENSURE(*error.what() != '\0', "an error says something");
    }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    set_up_log({.level = LogLevel::error});
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input in(data, size);
    if (in.byte() % 2 == 0)
        try_text(in);
    else
        try_vocabulary(in);
    return 0;
}
