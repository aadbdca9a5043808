#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "plait/dtype/dtype.h"

namespace plait::dtype {
namespace {

TEST(Table, HasOneRowPerTypeInOrder) {
    ASSERT_EQ(table().size(), static_cast<size_t>(kTypeCount));
    for (size_t i = 0; i < table().size(); ++i) {
        EXPECT_EQ(table()[i].type, static_cast<DType>(i));
        EXPECT_EQ(&info(static_cast<DType>(i)), &table()[i]);
    }
}

TEST(Table, NamesAndNumbersAreUniqueAndFound) {
    std::set<std::string> names;
    std::set<uint32_t> numbers;
    for (const DTypeInfo& row : table()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_TRUE(numbers.insert(row.gguf_id).second) << row.name;
        EXPECT_EQ(find_name(row.name), &row);
        EXPECT_EQ(find_gguf(row.gguf_id), &row);
    }
}

TEST(Table, NumbersAreThoseOfGguf) {
    const std::pair<DType, uint32_t> expected[] = {
        {DType::F32, 0},      {DType::F16, 1},     {DType::Q4_0, 2},     {DType::Q4_1, 3},
        {DType::Q8_0, 8},     {DType::I32, 26},    {DType::BF16, 30},    {DType::Q5_0, 6},
        {DType::Q5_1, 7},     {DType::Q2_K, 10},   {DType::Q3_K, 11},    {DType::Q4_K, 12},
        {DType::Q5_K, 13},    {DType::Q6_K, 14},   {DType::IQ2_XXS, 16}, {DType::IQ2_XS, 17},
        {DType::IQ3_XXS, 18}, {DType::IQ1_S, 19},  {DType::IQ4_NL, 20},  {DType::IQ3_S, 21},
        {DType::IQ2_S, 22},   {DType::IQ4_XS, 23}, {DType::IQ1_M, 29},   {DType::TQ1_0, 34},
        {DType::TQ2_0, 35},   {DType::MXFP4, 39},  {DType::NVFP4, 40}};
    ASSERT_EQ(std::size(expected), table().size());
    for (const auto& [type, number] : expected) EXPECT_EQ(info(type).gguf_id, number) << info(type).name;
}

TEST(Table, UnknownIsNull) {
    EXPECT_EQ(find_gguf(4), nullptr);
    EXPECT_EQ(find_gguf(std::numeric_limits<uint32_t>::max()), nullptr);
    EXPECT_EQ(find_name(""), nullptr);
    EXPECT_EQ(find_name("F3"), nullptr);
    EXPECT_EQ(find_name("F322"), nullptr);
    EXPECT_EQ(find_name("Q4_0 "), nullptr);
    EXPECT_EQ(find_name("Q4-0"), nullptr);
}

TEST(Table, NamesIgnoreCase) {
    EXPECT_EQ(find_name("q4_0"), &info(DType::Q4_0));
    EXPECT_EQ(find_name("bf16"), &info(DType::BF16));
    EXPECT_EQ(find_name("Bf16"), &info(DType::BF16));
}

TEST(Table, RowBytes) {
    EXPECT_EQ(row_bytes(DType::F32, 0), 0);
    EXPECT_EQ(row_bytes(DType::F32, 7), 28);
    EXPECT_EQ(row_bytes(DType::BF16, 7), 14);
    EXPECT_EQ(row_bytes(DType::Q8_0, 64), 68);
    EXPECT_EQ(row_bytes(DType::Q4_0, 64), 36);
    EXPECT_EQ(row_bytes(DType::Q4_1, 64), 40);
}

TEST(Table, BlocksAreAsLargeAsTheirBitsPerWeightSay) {
    const std::tuple<DType, int64_t, int64_t> expected[] = {
        // elements, bytes
        {DType::Q5_0, 32, 22},    {DType::Q5_1, 32, 24},     {DType::IQ4_NL, 32, 18},
        {DType::Q2_K, 256, 84},   {DType::Q3_K, 256, 110},   {DType::Q4_K, 256, 144},
        {DType::Q5_K, 256, 176},  {DType::Q6_K, 256, 210},   {DType::IQ2_XXS, 256, 66},
        {DType::IQ2_XS, 256, 74}, {DType::IQ2_S, 256, 82},   {DType::IQ3_XXS, 256, 98},
        {DType::IQ3_S, 256, 110}, {DType::IQ4_XS, 256, 136}, {DType::IQ1_S, 256, 50},
        {DType::IQ1_M, 256, 56},  {DType::TQ1_0, 256, 54},   {DType::TQ2_0, 256, 66},
        {DType::MXFP4, 32, 17},   {DType::NVFP4, 64, 36}};
    for (const auto& [type, elements, bytes] : expected)
        EXPECT_EQ(row_bytes(type, 3 * elements), 3 * bytes) << info(type).name;
}

TEST(Table, CachesTakeWhatEncodesInSmallBlocks) {
    EXPECT_EQ(cache_format_names(), "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL");
    EXPECT_FALSE(is_cache_format(DType::I32));
    EXPECT_FALSE(is_cache_format(DType::Q4_K));
}

TEST(Table, PaddedElements) {
    EXPECT_EQ(padded_elements(DType::F16, 33), 33);
    EXPECT_EQ(padded_elements(DType::Q8_0, 0), 0);
    EXPECT_EQ(padded_elements(DType::Q8_0, 1), 32);
    EXPECT_EQ(padded_elements(DType::Q8_0, 32), 32);
    EXPECT_EQ(padded_elements(DType::Q4_1, 33), 64);
}

TEST(TableDeathTest, BrokenInvariantsStop) {
    EXPECT_DEATH(row_bytes(DType::Q8_0, 33), "Q8_0");
    EXPECT_DEATH(row_bytes(DType::F32, -1), "F32");
    EXPECT_DEATH(row_bytes(DType::F32, std::numeric_limits<int64_t>::max()), "F32");
    EXPECT_DEATH(padded_elements(DType::Q4_0, std::numeric_limits<int64_t>::max()), "Q4_0");
    EXPECT_DEATH(info(static_cast<DType>(200)), "outside the table");
}

}  // namespace
}  // namespace plait::dtype
