#include "plait/text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/text/byte_alphabet.h"

namespace plait::text {
namespace {

constexpr uint32_t kEnd = std::numeric_limits<uint32_t>::max();
constexpr int32_t kNoToken = -1;  // a symbol merged away, or a byte without a token; in no merge

constexpr uint64_t candidate(int32_t rank, uint32_t left) {
    return uint64_t{static_cast<uint32_t>(rank)} << 32 | left;
}
constexpr int32_t rank_of(uint64_t candidate) { return static_cast<int32_t>(candidate >> 32); }
constexpr uint32_t left_of(uint64_t candidate) { return static_cast<uint32_t>(candidate); }

struct Halves {
    std::string_view left, right;
};

Halves halves(std::string_view merge, size_t number) {
    const size_t space = merge.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == merge.size())
        throw Error(
            fmt::format("tokenizer.ggml.merges: expected merge {} to be two halves around a space, found {}",
                        number, quote(merge)));
    return {merge.substr(0, space), merge.substr(space + 1)};
}

// Looks up what merges name; its buffer saves an allocation per merge.
class Speller {
  public:
    explicit Speller(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

    std::optional<Merge> merge(Halves text) {
        const auto left = token(text.left, {});
        const auto right = token(text.right, {});
        const auto product = token(text.left, text.right);
        if (!left || !right || !product) return std::nullopt;
        return Merge{*left, *right, *product};
    }

  private:
    std::optional<int32_t> token(std::string_view begin, std::string_view end) {
        bytes_.clear();
        if (!append_alphabet_bytes(begin, bytes_) || !append_alphabet_bytes(end, bytes_)) return std::nullopt;
        return vocabulary_.find(bytes_);
    }

    const Vocabulary& vocabulary_;
    std::string bytes_;
};

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, std::span<const std::string_view> merges) : merges_(merges.size()) {
    if (merges.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
        throw Error(fmt::format("tokenizer.ggml.merges: {} merges are more than ranks of 31 bits can number",
                                merges.size()));
    for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
        const char character = static_cast<char>(byte);
        byte_ids_[byte] = vocabulary.find({&character, 1}).value_or(kNoToken);
    }
    Speller speller(vocabulary);
    for (size_t i = 0; i < merges.size(); ++i)
        if (const auto merge = speller.merge(halves(merges[i], i))) merges_.add(*merge);
}

void Bpe::append(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
    ENSURE(piece.size() < kEnd, "a piece's positions have 32 bits");
    if (piece.empty()) return;
    start(piece, scratch);
    auto& candidates = scratch.candidates;
    while (!candidates.empty()) {
        std::ranges::pop_heap(candidates, std::greater{});
        const uint64_t best = candidates.back();
        candidates.pop_back();
        apply(best, scratch);
    }
    // The first symbol is never merged away: the left one of a pair stays.
    for (uint32_t at = 0; at != kEnd; at = scratch.symbols[at].next)
        if (scratch.symbols[at].id != kNoToken) ids.push_back(scratch.symbols[at].id);
}

void Bpe::start(std::string_view piece, Scratch& scratch) const {
    const auto bytes = static_cast<uint32_t>(piece.size());
    scratch.symbols.resize(bytes);
    for (uint32_t at = 0; at < bytes; ++at)
        scratch.symbols[at] = {.id = byte_ids_[static_cast<uint8_t>(piece[at])],
                               .previous = at == 0 ? kEnd : at - 1,
                               .next = at + 1 == bytes ? kEnd : at + 1};
    scratch.candidates.clear();
    for (uint32_t at = 0; at + 1 < bytes; ++at) {
        const int32_t rank = merges_.rank(scratch.symbols[at].id, scratch.symbols[at + 1].id);
        if (rank != MergeTable::kNone) scratch.candidates.push_back(candidate(rank, at));
    }
    std::ranges::make_heap(scratch.candidates, std::greater{});
}

// Queues the pair of `left` and its successor if it has a rank.
void Bpe::consider(uint32_t left, Scratch& scratch) const {
    if (left == kEnd || scratch.symbols[left].next == kEnd) return;
    const int32_t rank =
        merges_.rank(scratch.symbols[left].id, scratch.symbols[scratch.symbols[left].next].id);
    if (rank == MergeTable::kNone) return;
    scratch.candidates.push_back(candidate(rank, left));
    std::ranges::push_heap(scratch.candidates, std::greater{});
}

void Bpe::apply(uint64_t best, Scratch& scratch) const {
    auto& symbols = scratch.symbols;
    const Merge& merge = merges_[rank_of(best)];
    const uint32_t left = left_of(best);
    const uint32_t right = symbols[left].next;
    // Out of date: one of the two has been merged since.
    if (right == kEnd || symbols[left].id != merge.left || symbols[right].id != merge.right) return;
    const uint32_t after = symbols[right].next;
    symbols[left].id = merge.product;
    symbols[left].next = after;
    symbols[right].id = kNoToken;
    if (after != kEnd) symbols[after].previous = left;
    consider(symbols[left].previous, scratch);
    consider(left, scratch);
}

}  // namespace plait::text
