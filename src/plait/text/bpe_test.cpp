#include "plait/text/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "plait/base/error.h"
#include "plait/text/small_vocabulary.h"

namespace plait::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::vector<int32_t> encode(const Bpe& bpe, std::string_view piece) {
    Bpe::Scratch scratch;
    std::vector<int32_t> ids;
    bpe.append(piece, scratch, ids);
    return ids;
}

struct Model {
    Model(std::vector<std::string_view> tokens, std::vector<std::string_view> merges)
        : vocabulary(VocabSpec{.tokens = std::move(tokens)}), bpe(vocabulary, merges) {}
    Vocabulary vocabulary;
    Bpe bpe;
};

TEST(MergeTable, FindsWhatWasAddedAndKeepsTheFirst) {
    MergeTable table(3);
    table.add({1, 2, 3});
    table.add({2, 1, 4});
    table.add({1, 2, 5});
    EXPECT_EQ(table.rank(1, 2), 0);
    EXPECT_EQ(table.rank(2, 1), 1);
    EXPECT_EQ(table[0].product, 3);
    EXPECT_EQ(table.rank(1, 1), MergeTable::kNone);
    EXPECT_EQ(table.rank(-1, 2), MergeTable::kNone);
    EXPECT_EQ(MergeTable(0).rank(0, 0), MergeTable::kNone);
}

TEST(Bpe, MergesByRankThenLeftmost) {
    const Model model({"a", "b", "c", "ab", "bc", "aa"}, {"b c", "a b", "a a"});
    EXPECT_THAT(encode(model.bpe, "abc"), ElementsAre(0, 4));
    EXPECT_THAT(encode(model.bpe, "aaa"), ElementsAre(5, 0));
    EXPECT_THAT(encode(model.bpe, "aab"), ElementsAre(0, 3));
    EXPECT_THAT(encode(model.bpe, "a"), ElementsAre(0));
    EXPECT_THAT(encode(model.bpe, ""), IsEmpty());
}

TEST(Bpe, ByteWithoutATokenIsLeftOutAndKeepsItsNeighboursApart) {
    const Model model({"a", "b", "ab"}, {"a b"});
    EXPECT_THAT(encode(model.bpe, "ab"), ElementsAre(2));
    EXPECT_THAT(encode(model.bpe, "a?b"), ElementsAre(0, 1));
    EXPECT_THAT(encode(model.bpe, "?"), IsEmpty());
}

TEST(Bpe, MergesThatCannotApplyAreLeftOut) {
    const Model model({"a", "b", "c", "bc"}, {"a b", "ab c", "x a", "\u20AC a", "b c"});
    EXPECT_THAT(encode(model.bpe, "abc"), ElementsAre(0, 3));
}

TEST(Bpe, RefusesMergesWithoutHalves) {
    for (const std::string_view merge : {"", "ab", " ab", "ab ", " "})
        EXPECT_THAT(
            ([&] {
                Model({"a", "b"}, {"a b", merge});
            }),
            ThrowsMessage<Error>(HasSubstr("expected merge 1 to be two halves around a space, found '")))
            << merge;
}

// The definition, word for word: look at all pairs, merge the best, begin again.
std::vector<int32_t> merge_slowly(const SmallVocabulary& small, const Vocabulary& vocabulary,
                                  std::string_view piece) {
    std::map<std::pair<int32_t, int32_t>, std::pair<size_t, int32_t>> ranks;
    for (size_t rank = 0; rank < small.merges.size(); ++rank) {
        const std::string& merge = small.merges[rank];
        const size_t space = merge.find(' ');
        const std::string left = merge.substr(0, space), right = merge.substr(space + 1);
        ranks[{small.id(left), small.id(right)}] = {rank, small.id(left + right)};
    }
    std::vector<int32_t> ids;
    for (const char& c : piece) ids.push_back(vocabulary.find({&c, 1}).value());
    while (true) {
        size_t best_rank = std::numeric_limits<size_t>::max(), best_at = 0;
        for (size_t at = 0; at + 1 < ids.size(); ++at) {
            const auto found = ranks.find({ids[at], ids[at + 1]});
            if (found == ranks.end() || found->second.first >= best_rank) continue;
            best_rank = found->second.first;
            best_at = at;
        }
        if (best_rank == std::numeric_limits<size_t>::max()) return ids;
        ids[best_at] = ranks[{ids[best_at], ids[best_at + 1]}].second;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
    }
}

TEST(Bpe, AgreesWithTheDefinitionOnRandomPieces) {
    const SmallVocabulary& small = small_vocabulary();
    const VocabSpec spec = small.spec("gpt-2");
    const Vocabulary vocabulary(spec);
    const Bpe bpe(vocabulary, spec.merges);
    std::mt19937 random(7);
    constexpr std::string_view kParts[] = {"strand", "the", " ",  "re",  "  ", "\u0442\u0440\u0435",
                                           "a",      "h",   "ou", "\xFF"};
    size_t merged = 0;
    for (int round = 0; round < 300; ++round) {
        std::string piece;
        for (uint32_t parts = random() % 12; parts > 0; --parts)
            piece += kParts[random() % std::size(kParts)];
        const auto ids = encode(bpe, piece);
        EXPECT_EQ(ids, merge_slowly(small, vocabulary, piece)) << piece;
        merged += piece.size() - ids.size();
    }
    EXPECT_GT(merged, 1000u) << "the pieces hardly exercise merging";
}

}  // namespace
}  // namespace plait::text
