#include "plait/tools/synth_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plait/text/byte_alphabet.h"

namespace plait::tools {
namespace {

class SynthVocabularyTest : public ::testing::TestWithParam<int> {};

TEST_P(SynthVocabularyTest, IsConsistent) {
    const SynthVocabulary vocabulary = synth_vocabulary(GetParam());
    ASSERT_EQ(vocabulary.tokens.size(), static_cast<size_t>(GetParam()));
    ASSERT_EQ(vocabulary.types.size(), vocabulary.tokens.size());
    const std::set<std::string> tokens(vocabulary.tokens.begin(), vocabulary.tokens.end());
    EXPECT_EQ(tokens.size(), vocabulary.tokens.size());
    EXPECT_EQ(vocabulary.types.at(vocabulary.bos), 3);
    EXPECT_EQ(vocabulary.types.at(vocabulary.eos), 3);
    EXPECT_NE(vocabulary.bos, vocabulary.eos);
    EXPECT_EQ(std::ranges::count(vocabulary.types, 3), 2);
    EXPECT_EQ(vocabulary.bytes + static_cast<int64_t>(vocabulary.merges.size()) + 2, GetParam());
    for (const std::string& merge : vocabulary.merges) {
        const size_t space = merge.find(' ');
        ASSERT_EQ(space, merge.rfind(' '));
        EXPECT_TRUE(tokens.contains(merge.substr(0, space))) << merge;
        EXPECT_TRUE(tokens.contains(merge.substr(space + 1))) << merge;
        EXPECT_TRUE(tokens.contains(merge.substr(0, space) + merge.substr(space + 1))) << merge;
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SynthVocabularyTest,
                         ::testing::Values(3, 4, 100, 257, 258, 259, 300, 959, 960, 961, 962, 32000, 500000));

TEST(SynthVocabulary, SpellsEveryByteAsTheTokenizerReadsIt) {
    const SynthVocabulary vocabulary = synth_vocabulary(258);
    std::string all;
    for (int i = 0; i < 256; ++i) {
        std::string bytes;
        ASSERT_TRUE(text::append_alphabet_bytes(vocabulary.tokens[i], bytes));
        ASSERT_EQ(bytes.size(), 1u);
        all += bytes;
    }
    EXPECT_EQ(std::set<char>(all.begin(), all.end()).size(), 256u);
    EXPECT_EQ(all.substr(0, 4), " \n!\"");
}

}  // namespace
}  // namespace plait::tools
