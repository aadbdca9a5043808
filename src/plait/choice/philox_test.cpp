#include "plait/choice/philox.h"

#include <gtest/gtest.h>

namespace plait::choice {
namespace {

using Words4 = std::array<uint32_t, 4>;
using Words2 = std::array<uint32_t, 2>;

// The known-answer vectors published with the paper's library (Random123, kat_vectors, "philox4x32 10").
TEST(Philox, KnownAnswers) {
    EXPECT_EQ(philox4x32_10(Words4{}, Words2{}), (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(
        philox4x32_10(Words4{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, Words2{0xffffffff, 0xffffffff}),
        (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(
        philox4x32_10(Words4{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, Words2{0xa4093822, 0x299f31d0}),
        (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, EveryInputWordMatters) {
    const Words4 zero = philox4x32_10(Words4{}, Words2{});
    for (size_t word = 0; word < 4; ++word) {
        Words4 counter{};
        counter[word] = 1;
        EXPECT_NE(philox4x32_10(counter, Words2{}), zero) << word;
    }
    EXPECT_NE(philox4x32_10(Words4{}, Words2{1, 0}), zero);
    EXPECT_NE(philox4x32_10(Words4{}, Words2{0, 1}), zero);
}

}  // namespace
}  // namespace plait::choice
