#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plait/backends/cpu/simd/test_support.h"

// Attention of many queries: unpacked rows against the decoders, products against the kernels that read the
// formats as they lie, bit for bit.
namespace plait::backends::cpu::simd {
namespace {

using dtype::DType;
using test::Rows;

constexpr int64_t kWidths[] = {1, 8, 20, 32, 40, 64, 72, 127, 576};
constexpr float kCanary = 12345.0f;

template <class Fn>
std::vector<DType> types_of(const PerFormat<Fn>& kernels) {
    std::vector<DType> types;
    for (const dtype::DTypeInfo& row : dtype::table())
        if (kernels.of[static_cast<size_t>(row.type)] != nullptr) types.push_back(row.type);
    return types;
}

template <class Fn>
Fn kernel_for(const PerFormat<Fn>& kernels, DType type) {
    return kernels.of[static_cast<size_t>(type)];
}

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

std::string label_of(DType type, int64_t width) {
    return std::string(dtype::info(type).name) + " width " + std::to_string(width);
}

// The value a row has at `i`, which may lie behind its width.
float padded_at(const Rows& rows, int64_t row, int64_t i) { return i < rows.stored ? rows.at(row, i) : 0.0f; }

// A block of keys, unpacked in pieces as pages would give them.
std::vector<float> unpacked_keys(const KernelTable& table, const Rows& keys,
                                 std::initializer_list<int64_t> pieces) {
    std::vector<float> out(static_cast<size_t>(round_up(keys.k, 8) * kKeyBlock), kCanary);
    int64_t first = 0;
    for (const int64_t count : pieces) {
        kernel_for(table.unpack_keys, keys.type)({.rows_begin = keys.bytes.data() + first * keys.row_bytes,
                                                  .row_bytes = keys.row_bytes,
                                                  .out = out.data() + first,
                                                  .rows = count,
                                                  .width = keys.k});
        first += count;
    }
    return out;
}

std::vector<float> unpacked_values(const KernelTable& table, const Rows& values) {
    std::vector<float> out(static_cast<size_t>(round_up(values.k, 32) * kValueBlock), kCanary);
    kernel_for(table.unpack_values, values.type)({.rows_begin = values.bytes.data(),
                                                  .row_bytes = values.row_bytes,
                                                  .out = out.data(),
                                                  .rows = values.rows,
                                                  .width = values.k});
    return out;
}

class AttentionKernelTest : public test::LevelTest {};
INSTANTIATE_TEST_SUITE_P(Levels, AttentionKernelTest, testing::ValuesIn(test::levels_here()),
                         test::level_name);

TEST_P(AttentionKernelTest, UnpackedKeysAreWhatTheDecoderGives) {
    for (const DType type : types_of(k_.unpack_keys)) {
        for (const int64_t width : kWidths) {
            const Rows keys(type, 23, width, 1);
            const std::vector<float> out = unpacked_keys(k_, keys, {9, 1, 0, 13});
            for (int64_t i = 0; i < round_up(width, 8); ++i)
                for (int64_t r = 0; r < kKeyBlock; ++r)
                    ASSERT_EQ(out[i * kKeyBlock + r], r < 23 ? padded_at(keys, r, i) : kCanary)
                        << label_of(type, width) << " " << i << "," << r;
        }
    }
}

TEST_P(AttentionKernelTest, UnpackedValuesAreWhatTheDecoderGives) {
    for (const DType type : types_of(k_.unpack_values)) {
        for (const int64_t width : kWidths) {
            const Rows values(type, 23, width, 2);
            const std::vector<float> out = unpacked_values(k_, values);
            for (int64_t i = 0; i < round_up(width, 32); ++i)
                for (int64_t r = 0; r < kValueBlock; ++r)
                    ASSERT_EQ(out[(i / 32 * kValueBlock + r) * 32 + i % 32], r >= 23 ? kCanary
                                                                             : i < round_up(width, 8)
                                                                                 ? padded_at(values, r, i)
                                                                                 : 0.0f)
                        << label_of(type, width) << " " << i << "," << r;
        }
    }
}

// Few queries multiply rows as they lie, many unpack them: both must give the same scores.
TEST_P(AttentionKernelTest, ScoresHaveTheBitsOfProductsWithStoredRows) {
    for (const DType type : types_of(k_.unpack_keys)) {
        for (const int64_t width : kWidths) {
            const Rows keys(type, kKeyBlock, width, 3);
            const std::vector<float> unpacked = unpacked_keys(k_, keys, {kKeyBlock});
            for (const int64_t rows : {1, 2, 7, 12, 13, 31}) {
                const std::vector<float> queries = test::random_floats(4, rows * width);
                std::vector<float> transposed(static_cast<size_t>(round_up(width, 8) * rows), 0.0f);
                for (int64_t q = 0; q < rows; ++q)
                    for (int64_t i = 0; i < width; ++i) transposed[i * rows + q] = queries[q * width + i];
                std::vector<float> expected(static_cast<size_t>(rows * kKeyChunk), kCanary), found = expected;
                kernel_for(k_.matmul_f32, type)({.weights = keys.bytes.data(),
                                                 .row_bytes = keys.row_bytes,
                                                 .activations = queries.data(),
                                                 .activation_bytes = width * 4,
                                                 .out = expected.data() + 32,
                                                 .out_stride = kKeyChunk,
                                                 .rows = kKeyBlock,
                                                 .tokens = rows,
                                                 .k = width});
                k_.attention_scores({.keys = unpacked.data(),
                                     .queries = transposed.data(),
                                     .query_stride = rows,
                                     .out = found.data() + 32,
                                     .rows = rows,
                                     .k = round_up(width, 8)});
                ASSERT_NE(found[32], found[33]);
                ASSERT_TRUE(test::same_bits(found, expected)) << label_of(type, width) << " rows " << rows;
            }
        }
    }
}

// Likewise for values, where queries read different ranges. What lies outside a range may be NaN.
TEST_P(AttentionKernelTest, WeighHasTheBitsOfWeightedRows) {
    for (const DType type : types_of(k_.unpack_values)) {
        for (const int64_t width : kWidths) {
            const int64_t stride = round_up(width, 32);
            const Rows values(type, 50, width, 5);
            std::vector<float> unpacked = unpacked_values(k_, values);
            for (int64_t panel = 0; panel < stride / 32; ++panel)
                std::fill_n(unpacked.begin() + (panel * kValueBlock + 50) * 32, (kValueBlock - 50) * 32,
                            test::kNan);
            for (const int64_t rows : {1, 2, 7, 12, 13, 31}) {
                for (const int spread : {0, 1, 9}) {
                    std::vector<float> weights(static_cast<size_t>(rows * kKeyChunk), test::kNan);
                    std::vector<RowRange> ranges;
                    for (int32_t q = 0; q < rows; ++q) {
                        const int32_t begin = q * spread % 45,
                                      end = std::min(50, begin + 20 + q % 3 * spread);
                        ranges.push_back({begin, q % 5 == 3 && spread == 9 ? begin : end});
                        const std::vector<float> row = test::random_floats(10 + q, 50);
                        std::copy(row.begin() + begin, row.begin() + end,
                                  weights.begin() + q * kKeyChunk + begin);
                    }
                    std::vector<float> found = test::random_floats(6, rows * stride), expected = found;
                    for (int64_t q = 0; q < rows; ++q) {
                        kernel_for(k_.weighted_rows, type)(
                            {.rows_begin = values.bytes.data() + ranges[q].begin * values.row_bytes,
                             .row_bytes = values.row_bytes,
                             .weights = weights.data() + q * kKeyChunk + ranges[q].begin,
                             .weights_stride = kKeyChunk,
                             .out = expected.data() + q * stride,
                             .out_stride = stride,
                             .rows = ranges[q].end - ranges[q].begin,
                             .queries = 1,
                             .width = width});
                    }
                    k_.attention_weigh({.values = unpacked.data(),
                                        .weights = weights.data(),
                                        .ranges = ranges.data(),
                                        .out = found.data(),
                                        .out_stride = stride,
                                        .rows = rows,
                                        .width = stride});
                    for (int64_t q = 0; q < rows; ++q)
                        for (int64_t j = 0; j < width; ++j)
                            ASSERT_EQ(found[q * stride + j], expected[q * stride + j])
                                << label_of(type, width) << " rows " << rows << " " << q << "," << j;
                }
            }
        }
    }
}

// What lies beside the range is not seen, and the range alone decides the bits.
TEST_P(AttentionKernelTest, WeightsAreExponentialsRelativeToTheLargest) {
    for (const auto& [begin, end] :
         {std::pair{0, 256}, {0, 1}, {255, 256}, {3, 8}, {17, 40}, {8, 250}, {31, 33}}) {
        const std::vector<float> scores = test::random_floats(7, kKeyChunk, 20.0f);
        std::vector<float> found(kKeyChunk, test::kNan), again(kKeyChunk, 1e30f);
        std::copy(scores.begin() + begin, scores.begin() + end, found.begin() + begin);
        std::copy(scores.begin() + begin, scores.begin() + end, again.begin() + begin);
        float sum = 0, sum_again = 0;
        const float largest = k_.attention_weights(found.data(), begin, end, &sum);
        ASSERT_EQ(largest, *std::max_element(scores.begin() + begin, scores.begin() + end));
        ASSERT_EQ(k_.attention_weights(again.data(), begin, end, &sum_again), largest);
        ASSERT_EQ(sum, sum_again);
        double total = 0;
        for (int i = begin; i < end; ++i) {
            const double expected = std::exp(static_cast<double>(scores[i] - largest));
            total += expected;
            ASSERT_NEAR(found[i], expected, 3e-7 * expected + 1e-37) << i;
            ASSERT_EQ(found[i], again[i]);
        }
        ASSERT_NEAR(sum, total, 1e-6 * total) << begin << " " << end;
    }
}

TEST_P(AttentionKernelTest, WeightsOfNothingAndOfNan) {
    std::vector<float> scores(kKeyChunk, -test::kInf);
    float sum = 1;
    EXPECT_EQ(k_.attention_weights(scores.data(), 5, 100, &sum), -test::kInf);
    EXPECT_EQ(sum, 0.0f);
    for (int i = 5; i < 100; ++i) ASSERT_EQ(scores[i], 0.0f);
    std::fill(scores.begin(), scores.end(), 1.0f);
    scores[50] = test::kNan;
    EXPECT_EQ(k_.attention_weights(scores.data(), 5, 100, &sum), 1.0f);
    EXPECT_TRUE(std::isnan(sum));
}

}  // namespace
}  // namespace plait::backends::cpu::simd
