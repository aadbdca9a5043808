#include <gtest/gtest.h>

#include <vector>

#include "plait/base/allocation_count.h"
#include "plait/sample/sampler.h"

namespace plait::sample {
namespace {

int64_t allocations_of_200_tokens(const Params& params) {
    constexpr int32_t kVocabulary = 5000;
    std::vector<float> logits(kVocabulary);
    for (int32_t i = 0; i < kVocabulary; ++i) logits[i] = static_cast<float>(i * 2654435761u % 4999) / 500;
    Sampler sampler(params, kVocabulary, 0);
    const int64_t before = allocation_count();
    for (int64_t position = 0; position < 200; ++position) sampler.accept(sampler.sample(logits, position));
    return allocation_count() - before;
}

TEST(Allocation, SteadyStateAllocatesNothing) {
    EXPECT_EQ(allocations_of_200_tokens({}), 0);
    EXPECT_EQ(allocations_of_200_tokens({.temperature = 0}), 0);
    EXPECT_EQ(allocations_of_200_tokens({.top_k = 0}), 0);
    EXPECT_EQ(allocations_of_200_tokens({.top_k = 0, .top_p = 1, .min_p = 0}), 0);
    EXPECT_EQ(allocations_of_200_tokens({.repeat_penalty = 1.1, .repeat_last_n = 16}), 0);
    EXPECT_EQ(allocations_of_200_tokens({.repeat_last_n = -1, .frequency_penalty = 0.1}), 0);
}

}  // namespace
}  // namespace plait::sample
