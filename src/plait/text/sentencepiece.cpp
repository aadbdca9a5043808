#include "plait/text/sentencepiece.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/base/utf8.h"
#include "plait/text/sentencepiece_spelling.h"

namespace plait::text {
namespace {

constexpr uint32_t kEnd = std::numeric_limits<uint32_t>::max();
constexpr int32_t kNoToken = -1;

void check_scores(std::span<const float> scores, int32_t tokens) {
    if (scores.size() != static_cast<size_t>(tokens))
        throw Error(fmt::format("tokenizer.ggml.scores: expected {} numbers, one per token, found {}", tokens,
                                scores.size()));
    const auto bad = std::ranges::find_if(scores, [](float score) { return std::isnan(score); });
    if (bad != scores.end())
        throw Error(fmt::format("tokenizer.ggml.scores: the score of token {} is not a number",
                                bad - scores.begin()));
}

uint32_t character_bytes(std::string_view text) {
    const Utf8Sequence first = first_sequence(text);
    return first.kind == Utf8Sequence::Kind::Complete ? static_cast<uint32_t>(first.bytes) : 1;
}

}  // namespace

SentencePiece::SentencePiece(const Vocabulary& vocabulary, std::span<const float> scores, bool space_prefix)
    : scores_(scores.begin(), scores.end()), space_prefix_(space_prefix) {
    check_scores(scores, vocabulary.size());
    byte_ids_.fill(kNoToken);
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
        const std::string_view bytes = vocabulary.bytes(id);
        if (bytes.size() > kLongest)
            throw Error(fmt::format("tokenizer: token {} ({}) has {} bytes, expected at most {}", id,
                                    quote(bytes, 20), bytes.size(), kLongest));
        longest_ = std::max(longest_, bytes.size());
        if (vocabulary.type(id) == TokenType::Byte) byte_ids_[static_cast<uint8_t>(bytes[0])] = id;
    }
}

void SentencePiece::append(const Vocabulary& vocabulary, std::string_view text, Scratch& scratch,
                           std::vector<int32_t>& ids) const {
    if (text.empty()) return;
    start(vocabulary, text, scratch);
    auto& candidates = scratch.candidates;
    while (!candidates.empty()) {
        std::ranges::pop_heap(candidates, worse);
        const Scratch::Candidate best = candidates.back();
        candidates.pop_back();
        apply(vocabulary, best, scratch);
    }
    append_symbols(vocabulary, scratch, ids);
}

bool SentencePiece::worse(const Scratch::Candidate& a, const Scratch::Candidate& b) {
    return a.score != b.score ? a.score < b.score : a.left > b.left;
}

void SentencePiece::start(const Vocabulary& vocabulary, std::string_view text, Scratch& scratch) const {
    scratch.text.assign(space_prefix_ ? 1 : 0, ' ');
    append_with_spaces(text, scratch.text);
    ENSURE(scratch.text.size() < kEnd, "a text's positions have 32 bits");
    const auto end = static_cast<uint32_t>(scratch.text.size());
    auto& symbols = scratch.symbols;
    symbols.clear();
    for (uint32_t at = 0; at < end; at += symbols.back().bytes) {
        const auto number = static_cast<uint32_t>(symbols.size());
        symbols.push_back({.start = at,
                           .bytes = character_bytes(std::string_view(scratch.text).substr(at)),
                           .previous = number == 0 ? kEnd : number - 1,
                           .next = number + 1,
                           .id = kNoToken});
    }
    symbols.back().next = kEnd;
    scratch.candidates.clear();
    for (uint32_t left = 0; left < symbols.size(); ++left) make_candidate(vocabulary, left, scratch);
    std::ranges::make_heap(scratch.candidates, worse);
}

// Adds the pair of `left` and its successor behind the heap if it is a token.
bool SentencePiece::make_candidate(const Vocabulary& vocabulary, uint32_t left, Scratch& scratch) const {
    const Scratch::Symbol& symbol = scratch.symbols[left];
    if (symbol.next == kEnd) return false;
    const uint32_t bytes = symbol.bytes + scratch.symbols[symbol.next].bytes;
    if (bytes > longest_) return false;
    const auto id = vocabulary.find(std::string_view(scratch.text).substr(symbol.start, bytes));
    if (!id) return false;
    scratch.candidates.push_back({.score = scores_[*id], .left = left, .bytes = bytes, .id = *id});
    return true;
}

void SentencePiece::consider(const Vocabulary& vocabulary, uint32_t left, Scratch& scratch) const {
    if (left != kEnd && make_candidate(vocabulary, left, scratch))
        std::ranges::push_heap(scratch.candidates, worse);
}

void SentencePiece::apply(const Vocabulary& vocabulary, const Scratch::Candidate& best,
                          Scratch& scratch) const {
    auto& symbols = scratch.symbols;
    Scratch::Symbol& left = symbols[best.left];
    // Out of date: one of the two has been merged since.
    if (left.bytes == 0 || left.next == kEnd || left.bytes + symbols[left.next].bytes != best.bytes) return;
    Scratch::Symbol& right = symbols[left.next];
    right.bytes = 0;
    left.bytes = best.bytes;
    left.id = best.id;
    left.next = right.next;
    if (left.next != kEnd) symbols[left.next].previous = best.left;
    consider(vocabulary, left.previous, scratch);
    consider(vocabulary, best.left, scratch);
}

void SentencePiece::append_symbols(const Vocabulary& vocabulary, const Scratch& scratch,
                                   std::vector<int32_t>& ids) const {
    bool after_unknown = false;
    // The first symbol is never merged away: the left one of a pair stays.
    for (uint32_t at = 0; at != kEnd; at = scratch.symbols[at].next) {
        const Scratch::Symbol& symbol = scratch.symbols[at];
        const std::string_view text = std::string_view(scratch.text).substr(symbol.start, symbol.bytes);
        const int32_t id = symbol.id != kNoToken ? symbol.id : vocabulary.find(text).value_or(kNoToken);
        const bool known = id != kNoToken || append_bytes(text, ids);
        if (id != kNoToken) ids.push_back(id);
        if (!known && !after_unknown && vocabulary.ids().unknown) ids.push_back(*vocabulary.ids().unknown);
        after_unknown = !known;
    }
}

// All of the character's bytes or, if one has no token, none.
bool SentencePiece::append_bytes(std::string_view character, std::vector<int32_t>& ids) const {
    const auto id = [this](char byte) { return byte_ids_[static_cast<uint8_t>(byte)]; };
    if (std::ranges::any_of(character, [&](char byte) { return id(byte) == kNoToken; })) return false;
    for (const char byte : character) ids.push_back(id(byte));
    return true;
}

}  // namespace plait::text
