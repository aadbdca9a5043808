// The matmul kernels of every level against sums in double precision, and against themselves: the same bits
// for any tiling.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "plait/backends/cpu/simd/pack_x8.h"
#include "plait/backends/cpu/simd/test_support.h"

namespace plait::backends::cpu::simd {
namespace {

using dtype::DType;
using test::kInf;
using test::kNan;
using test::Rows;

constexpr float kCanary = -12345.0f;

// The formats that have a kernel of one kind.
std::vector<DType> types_of(const PerFormat<MatmulFn>& kernels) {
    std::vector<DType> types;
    for (const dtype::DTypeInfo& row : dtype::table())
        if (kernels.of[static_cast<size_t>(row.type)] != nullptr) types.push_back(row.type);
    return types;
}

// The formats that have a kernel for quantised activations.
std::vector<DType> quantised_types(const KernelTable& table) {
    std::vector<DType> types;
    for (const dtype::DTypeInfo& row : dtype::table()) {
        const auto at = static_cast<size_t>(row.type);
        if (table.matmul_q8.of[at] != nullptr || table.matmul_q8_x8.of[at] != nullptr ||
            table.matmul_q8_codes.of[at] != nullptr)
            types.push_back(row.type);
    }
    return types;
}

MatmulFn kernel_for(const PerFormat<MatmulFn>& kernels, DType type) {
    return kernels.of[static_cast<size_t>(type)];
}

// Empty for formats that cannot be packed.
std::vector<uint8_t> packed(const Rows& w) {
    if (!can_pack_x8(w.type)) return {};
    std::vector<uint8_t> out(static_cast<size_t>(packed_rows(w.rows) * w.row_bytes), 0xEE);
    pack_x8(w.type, {w.bytes.data(), w.row_bytes, out.data(), w.rows, w.stored});
    return out;
}

// Activations of one kind: floats, or blocks quantised from them together with the values the blocks hold.
struct Activations {
    int64_t tokens, k;
    std::vector<float> values;
    std::vector<ActBlock> blocks, residuals;
    std::vector<uint8_t> refined;

    // Every 50th value is an outlier.
    Activations(int64_t n_tokens, int64_t n, uint32_t seed)
        : tokens(n_tokens), k(n), values(test::random_floats(seed, n_tokens * n)) {
        for (size_t i = seed % 50; i < values.size(); i += 50) values[i] *= 30;
    }

    void quantise(const KernelTable& table) {
        const auto n = static_cast<size_t>(tokens * k / 32);
        blocks.resize(n);
        refined.assign(n, 0xEE);
        // Residuals that are not written must not be read.
        residuals.assign(n, ActBlock{.d = kNan});
        table.quantise(values.data(), {blocks.data(), refined.data(), residuals.data()}, tokens * k);
        take_values();
    }
    void take_values() {
        for (size_t i = 0; i < values.size(); ++i) {
            const size_t block = i / 32;
            values[i] = static_cast<float>(blocks[block].q[i % 32]) * blocks[block].d;
            if (refined[block])
                values[i] += static_cast<float>(residuals[block].q[i % 32]) * residuals[block].d;
        }
    }
    float at(int64_t token, int64_t i) const { return values[static_cast<size_t>(token * k + i)]; }
};

// A product as a kernel is asked for it; `weights` in whatever layout it takes.
struct Product {
    MatmulFn kernel;
    const uint8_t* weights;
    int64_t row_bytes;
    const void* activations;
    int64_t activation_bytes;
    int64_t rows, tokens, k;
    const uint8_t* refined = nullptr;
    const ActBlock* residuals = nullptr;
    void* workspace = nullptr;

    // out is tokens x (rows + 1), the last column must stay as it was.
    void run(std::vector<float>& out, int64_t row, int64_t n_rows, int64_t token, int64_t n_tokens) const {
        const int64_t stride = rows + 1;
        kernel({.weights = weights + row * row_bytes,
                .row_bytes = row_bytes,
                .activations = static_cast<const uint8_t*>(activations) + token * activation_bytes,
                .activation_bytes = activation_bytes,
                .refined = refined + token * (k / 32),
                .residuals = residuals + token * (k / 32),
                .out = out.data() + token * stride + row,
                .out_stride = stride,
                .rows = n_rows,
                .tokens = n_tokens,
                .k = k,
                .workspace = workspace});
    }
    std::vector<float> blank() const {
        return std::vector<float>(static_cast<size_t>(tokens * (rows + 1)), kCanary);
    }
    std::vector<float> whole() const {
        std::vector<float> out = blank();
        run(out, 0, rows, 0, tokens);
        return out;
    }
    std::vector<float> in_tiles(int64_t tile_rows, int64_t tile_tokens) const {
        std::vector<float> out = blank();
        for (int64_t row = 0; row < rows; row += tile_rows)
            for (int64_t token = 0; token < tokens; token += tile_tokens)
                run(out, row, std::min(tile_rows, rows - row), token, std::min(tile_tokens, tokens - token));
        return out;
    }
};

Product f32_product(const KernelTable& table, const Rows& w, const Activations& x) {
    return {kernel_for(table.matmul_f32, w.type),
            w.bytes.data(),
            w.row_bytes,
            x.values.data(),
            x.k * 4,
            w.rows,
            x.tokens,
            x.k};
}

Product floats_product(const KernelTable& table, const Rows& w, const Activations& x) {
    Product product = f32_product(table, w, x);
    product.kernel = kernel_for(table.matmul_floats, w.type);
    return product;
}

// All there are with F32 activations.
std::vector<Product> f32_products(const KernelTable& table, const Rows& w, const Activations& x) {
    std::vector<Product> products;
    if (kernel_for(table.matmul_f32, w.type) != nullptr) products.push_back(f32_product(table, w, x));
    if (kernel_for(table.matmul_floats, w.type) != nullptr) products.push_back(floats_product(table, w, x));
    return products;
}

Product q8_product(const KernelTable& table, const Rows& w, const Activations& x) {
    return {kernel_for(table.matmul_q8, w.type),
            w.bytes.data(),
            w.row_bytes,
            x.blocks.data(),
            x.k / 32 * int64_t{sizeof(ActBlock)},
            w.rows,
            x.tokens,
            x.k,
            x.refined.data(),
            x.residuals.data()};
}

Product x8_product(const KernelTable& table, const Rows& w, const std::vector<uint8_t>& packed_weights,
                   const Activations& x) {
    Product product = q8_product(table, w, x);
    product.kernel = kernel_for(table.matmul_q8_x8, w.type);
    product.weights = packed_weights.data();
    return product;
}

// A workspace full of what must not be read.
void* workspace_for(int64_t k) {
    static std::vector<float> memory;
    const auto floats = static_cast<size_t>(panel_bytes(k)) / sizeof(float) + 16;
    memory.assign(std::max(memory.size(), floats), kNan);
    auto address = reinterpret_cast<uintptr_t>(memory.data());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);
}

Product panel_product(const KernelTable& table, const Rows& w, const std::vector<uint8_t>& packed_weights,
                      const Activations& x) {
    Product product = x8_product(table, w, packed_weights, x);
    product.workspace = workspace_for(x.k);
    return product;
}

Product codes_product(const KernelTable& table, const Rows& w, const Activations& x) {
    Product product = q8_product(table, w, x);
    product.kernel = kernel_for(table.matmul_q8_codes, w.type);
    product.workspace = workspace_for(x.k);
    return product;
}

// All there are with quantised activations.
std::vector<Product> quantised_products(const KernelTable& table, const Rows& w,
                                        const std::vector<uint8_t>& packed_weights, const Activations& x) {
    std::vector<Product> products;
    if (kernel_for(table.matmul_q8, w.type) != nullptr) products.push_back(q8_product(table, w, x));
    if (kernel_for(table.matmul_q8_codes, w.type) != nullptr) products.push_back(codes_product(table, w, x));
    if (can_pack_x8(w.type)) {
        products.push_back(x8_product(table, w, packed_weights, x));
        products.push_back(panel_product(table, w, packed_weights, x));
    }
    return products;
}

// Every element within float rounding of the sum of its products, and the canaries alive.
void expect_close(const std::vector<float>& found, const Rows& w, const Activations& x,
                  const std::string& label) {
    for (int64_t t = 0; t < x.tokens; ++t) {
        for (int64_t r = 0; r < w.rows; ++r) {
            double sum = 0, magnitude = 0;
            for (int64_t i = 0; i < x.k; ++i) {
                const double product = static_cast<double>(w.at(r, i)) * x.at(t, i);
                sum += product;
                magnitude += std::fabs(product);
            }
            // Q4_0 and Q4_1 may cancel a large offset, which counts as magnitude too.
            ASSERT_NEAR(found[t * (w.rows + 1) + r], sum, 2e-6 * (magnitude + 10))
                << label << " " << t << "," << r;
        }
        ASSERT_EQ(found[t * (w.rows + 1) + w.rows], kCanary) << label;
    }
}

std::string label_of(DType type, int64_t rows, int64_t tokens, int64_t k) {
    return std::string(dtype::info(type).name) + " rows " + std::to_string(rows) + " tokens " +
           std::to_string(tokens) + " k " + std::to_string(k);
}

class MatmulTest : public test::LevelTest {};
INSTANTIATE_TEST_SUITE_P(Levels, MatmulTest, testing::ValuesIn(test::levels_here()), test::level_name);

TEST_P(MatmulTest, F32ActivationsMatchDoublePrecision) {
    uint32_t seed = 1;
    for (const DType type : types_of(k_.matmul_f32)) {
        for (const int64_t k : {1, 7, 8, 9, 31, 32, 33, 47, 64, 300}) {
            for (const auto& [rows, tokens] : {std::pair{1, 1}, {9, 1}, {7, 3}, {5, 4}, {4, 17}}) {
                const Rows w(type, rows, k, ++seed);
                const Activations x(tokens, k, ++seed);
                for (const Product& product : f32_products(k_, w, x))
                    expect_close(product.whole(), w, x, label_of(type, rows, tokens, k));
            }
        }
    }
}

// Blocks of k, whole and not, that sums wait in memory between; and rows and tokens that fill no tile.
TEST_P(MatmulTest, FloatWeightsInBlocksOfK) {
    uint32_t seed = 50;
    for (const DType type : types_of(k_.matmul_floats)) {
        for (const int64_t k : {511, 512, 513, 1024, 1100}) {
            for (int64_t tokens = 1; tokens <= 9; ++tokens) {
                const Rows w(type, 37, k, ++seed);
                const Activations x(tokens, k, ++seed);
                const Product product = floats_product(k_, w, x);
                expect_close(product.whole(), w, x, label_of(type, 37, tokens, k));
                ASSERT_TRUE(test::same_bits(product.in_tiles(5, 1), product.whole()))
                    << label_of(type, 37, tokens, k);
            }
        }
    }
}

// What lies behind a row and behind a token's values is not read.
TEST_P(MatmulTest, FloatWeightsEndWithTheRow) {
    for (const DType type : types_of(k_.matmul_floats)) {
        const int64_t k = 45, stored = 64;
        Rows w(type, 9, stored, 60);
        Activations x(15, stored, 61);
        const Rows before = w;
        std::fill(w.bytes.begin(), w.bytes.end(), 0xFF);  // a NaN
        const auto bytes = static_cast<size_t>(dtype::row_bytes(type, k));
        for (int64_t r = 0; r < w.rows; ++r)
            std::copy_n(before.bytes.begin() + r * w.row_bytes, bytes, w.bytes.begin() + r * w.row_bytes);
        w.decode();
        w.k = k;
        for (int64_t t = 0; t < x.tokens; ++t)
            std::fill_n(x.values.begin() + t * stored + k, stored - k, kNan);
        Product product = floats_product(k_, w, x);
        product.k = k;
        const std::vector<float> found = product.whole();
        for (int64_t t = 0; t < x.tokens; ++t) {
            for (int64_t r = 0; r < w.rows; ++r) {
                double sum = 0;
                for (int64_t i = 0; i < k; ++i) sum += static_cast<double>(w.at(r, i)) * x.at(t, i);
                ASSERT_NEAR(found[t * (w.rows + 1) + r], sum, 1e-3) << dtype::info(type).name;
            }
        }
    }
}

// With a single one among zeros the product is the weight itself: bit for bit what the format's decoder
// gives.
TEST_P(MatmulTest, F32ActivationsSeeExactWeights) {
    for (const DType type : types_of(k_.matmul_f32)) {
        const int64_t k = 77;
        const Rows w(type, 3, k, 5, 40.0f);
        Activations x(k, k, 6);
        for (int64_t t = 0; t < k; ++t)
            for (int64_t i = 0; i < k; ++i) x.values[t * k + i] = t == i ? 1.0f : 0.0f;
        for (const Product& product : f32_products(k_, w, x)) {
            const std::vector<float> found = product.whole();
            for (int64_t t = 0; t < k; ++t)
                for (int64_t r = 0; r < w.rows; ++r)
                    ASSERT_EQ(found[t * (w.rows + 1) + r], w.at(r, t))
                        << dtype::info(type).name << " " << r << "," << t;
        }
    }
}

TEST_P(MatmulTest, QuantisedActivationsMatchDoublePrecision) {
    uint32_t seed = 100;
    for (const DType type : quantised_types(k_)) {
        for (const int64_t k : {32, 64, 96, 320}) {
            for (const auto& [rows, tokens] :
                 {std::pair{1, 1}, {7, 2}, {8, 1}, {9, 3}, {16, 5}, {33, 1}, {40, 8}, {41, 1}, {17, 17}}) {
                const Rows w(type, rows, k, ++seed);
                Activations x(tokens, k, ++seed);
                x.quantise(k_);
                const std::vector<uint8_t> packed_weights = packed(w);
                for (const Product& product : quantised_products(k_, w, packed_weights, x))
                    expect_close(product.whole(), w, x, label_of(type, rows, tokens, k));
            }
        }
    }
}

// The law of bits: whatever is computed together, an element is the same.
TEST_P(MatmulTest, TilingChangesNoBit) {
    const int64_t rows = 43, tokens = 17, k = 160;
    Activations x(tokens, k, 201);
    const auto check = [&](const Product& product, const char* label,
                           std::initializer_list<int64_t> row_tiles) {
        const std::vector<float> whole = product.whole();
        ASSERT_NE(whole[0], whole[1]) << label;
        for (const int64_t tile_rows : row_tiles)
            for (const int64_t tile_tokens : {1, 2, 3, 4, 5, 7, 8, 17})
                ASSERT_TRUE(test::same_bits(product.in_tiles(tile_rows, tile_tokens), whole))
                    << label << " " << tile_rows << "x" << tile_tokens;
    };
    for (const DType type : types_of(k_.matmul_f32)) {
        const Rows w(type, rows, k, 202);
        for (const Product& product : f32_products(k_, w, x))
            check(product, dtype::info(type).name, {1, 2, 3, 4, 11, 32, 43});
    }
    x.quantise(k_);
    for (const DType type : quantised_types(k_)) {
        const Rows w(type, rows, k, 203);
        if (kernel_for(k_.matmul_q8, type) != nullptr)
            check(q8_product(k_, w, x), dtype::info(type).name, {1, 2, 3, 4, 11, 43});
        if (kernel_for(k_.matmul_q8_codes, type) != nullptr)
            check(codes_product(k_, w, x), dtype::info(type).name, {1, 2, 3, 4, 11, 16, 43});
        if (!can_pack_x8(type)) continue;
        const std::vector<uint8_t> packed_weights = packed(w);
        const Product panels = panel_product(k_, w, packed_weights, x);
        check(panels, dtype::info(type).name, {16, 32, 43, 48});
        EXPECT_TRUE(test::same_bits(panels.whole(), x8_product(k_, w, packed_weights, x).whole()))
            << dtype::info(type).name;
    }
}

// Where a format keeps its F16 numbers, and how many it has.
struct Halves {
    DType type;
    int64_t at, count;
};
constexpr Halves kHalves[] = {
    {DType::Q8_0, 0, 1},    {DType::Q4_0, 0, 1},    {DType::Q4_1, 0, 2},   {DType::Q5_0, 0, 1},
    {DType::Q5_1, 0, 2},    {DType::Q2_K, 80, 2},   {DType::Q3_K, 108, 1}, {DType::Q4_K, 0, 2},
    {DType::Q5_K, 0, 2},    {DType::Q6_K, 208, 1},  {DType::IQ4_NL, 0, 1}, {DType::IQ4_XS, 0, 1},
    {DType::MXFP4, 0, 0},   {DType::NVFP4, 0, 0},   {DType::TQ2_0, 64, 1}, {DType::TQ1_0, 52, 1},
    {DType::IQ3_S, 0, 1},   {DType::IQ3_XXS, 0, 1}, {DType::IQ2_S, 0, 1},  {DType::IQ2_XS, 0, 1},
    {DType::IQ2_XXS, 0, 1}, {DType::IQ1_S, 0, 1},   {DType::IQ1_M, 0, 0}};

// Rows of blocks whose F16 numbers are 1 (MXFP4: 2^-1, NVFP4: 224) and whose other bytes are `code`.
Rows constant_rows(DType type, int64_t n_rows, int64_t k, int code) {
    Rows w(type, n_rows, k, 300);
    const auto* halves = std::ranges::find(kHalves, type, &Halves::type);
    EXPECT_NE(halves, std::end(kHalves)) << dtype::info(type).name;
    const int64_t block_bytes = dtype::info(type).block_bytes;
    for (size_t i = 0; i < w.bytes.size(); ++i) {
        const int64_t offset = static_cast<int64_t>(i) % block_bytes - halves->at;
        const bool scale = offset >= 0 && offset < 2 * halves->count;
        w.bytes[i] = static_cast<uint8_t>(!scale ? code : offset % 2 ? 0x3C : 0x00);
        if (type == DType::MXFP4 && offset == 0) w.bytes[i] = 128;
        if (type == DType::NVFP4 && offset < 4) w.bytes[i] = 0x7E;
        // A quarter of the F16 number in the upper half of every other byte.
        if (type == DType::IQ1_M && offset >= 48 && offset % 2 == 1)
            w.bytes[i] = static_cast<uint8_t>((code & 15) | (0x3C00 >> (offset - 49) * 2 & 15) << 4);
    }
    w.decode();
    return w;
}

void fill(Activations& x, int pattern) {
    std::ranges::fill(x.refined, 0);
    for (ActBlock& block : x.blocks) {
        block.d = 1.0f;
        for (int j = 0; j < 32; ++j) {
            const bool positive = pattern == 0 || (pattern == 2 && j % 2 == 1);
            block.q[j] = positive ? 127 : -127;
        }
        test::take_sums(block);
    }
    x.take_values();
}

// Codes at the ends of their range with activations of +-127: nothing may saturate. Products are integers, so
// the result is exact as far as a float can hold it.
TEST_P(MatmulTest, ExtremeCodesDoNotSaturate) {
    const int64_t rows = 19, k = 64;
    for (const DType type : quantised_types(k_)) {
        for (const int code : {0x00, 0xFF, 0x7F, 0x80}) {
            const Rows w = constant_rows(type, rows, k, code);
            const std::vector<uint8_t> packed_weights = packed(w);
            for (const int pattern : {0, 1, 2}) {
                Activations x(9, k, 301);
                x.quantise(k_);
                fill(x, pattern);
                double expected = 0, magnitude = 0;
                for (int64_t i = 0; i < k; ++i) {
                    const double product = static_cast<double>(w.at(0, i)) * x.at(0, i);
                    expected += product;
                    magnitude += std::fabs(product);
                }
                const double slack = magnitude < 0x1p24 ? 0 : magnitude * 0x1p-22;
                for (const Product& product : quantised_products(k_, w, packed_weights, x)) {
                    const std::vector<float> found = product.whole();
                    for (int64_t t = 0; t < x.tokens; ++t)
                        for (int64_t r = 0; r < rows; ++r)
                            ASSERT_NEAR(found[t * (rows + 1) + r], expected, slack)
                                << dtype::info(type).name << " code " << code << " pattern " << pattern;
                }
            }
        }
    }
}

TEST_P(MatmulTest, ZeroRowsAndZeroActivationsGiveZero) {
    for (const DType type : quantised_types(k_)) {
        Rows w(type, 11, 64, 400);
        std::fill(w.bytes.begin(), w.bytes.end(), 0);
        w.decode();
        Activations x(3, 64, 401);
        x.quantise(k_);
        const auto zero_but_canaries = [&](const std::vector<float>& found) {
            for (size_t i = 0; i < found.size(); ++i)
                ASSERT_EQ(found[i], i % 12 == 11 ? kCanary : 0.0f) << dtype::info(type).name << " " << i;
        };
        const std::vector<uint8_t> packed_zeros = packed(w);
        for (const Product& product : quantised_products(k_, w, packed_zeros, x))
            zero_but_canaries(product.whole());
        const Rows full(type, 11, 64, 402);
        const std::vector<uint8_t> packed_full = packed(full);
        std::fill(x.values.begin(), x.values.end(), 0.0f);
        x.quantise(k_);
        for (const Product& product : quantised_products(k_, full, packed_full, x))
            zero_but_canaries(product.whole());
        for (const Product& product : f32_products(k_, full, x)) zero_but_canaries(product.whole());
    }
}

TEST_P(MatmulTest, ANanActivationReachesItsTokenOnly) {
    for (const DType type : quantised_types(k_)) {
        const Rows w(type, 12, 96, 500);
        Activations x(5, 96, 501);
        x.values[2 * 96 + 40] = kNan;
        x.quantise(k_);
        const std::vector<uint8_t> packed_weights = packed(w);
        for (const Product& product : quantised_products(k_, w, packed_weights, x)) {
            const std::vector<float> found = product.whole();
            for (int64_t t = 0; t < 5; ++t)
                for (int64_t r = 0; r < 12; ++r)
                    ASSERT_EQ(std::isnan(found[t * 13 + r]), t == 2) << t << "," << r;
        }
    }
}

TEST_P(MatmulTest, NothingToDoWritesNothing) {
    const Rows w(DType::Q4_0, 8, 32, 600);
    Activations x(2, 32, 601);
    const auto untouched = [](const Product& product) {
        std::vector<float> out = product.blank();
        product.run(out, 0, 0, 0, 2);
        product.run(out, 0, 8, 0, 0);
        return test::same_bits(out, product.blank());
    };
    EXPECT_TRUE(untouched(f32_product(k_, w, x)));
    x.quantise(k_);
    const std::vector<uint8_t> packed_weights = packed(w);
    EXPECT_TRUE(untouched(q8_product(k_, w, x)));
    EXPECT_TRUE(untouched(x8_product(k_, w, packed_weights, x)));
}

class QuantiseTest : public test::LevelTest {
  protected:
    ActBlock quantise_one(const std::vector<float>& values) {
        ActBlock block, residual;
        uint8_t refined;
        k_.quantise(values.data(), {&block, &refined, &residual}, 32);
        return block;
    }
};
INSTANTIATE_TEST_SUITE_P(Levels, QuantiseTest, testing::ValuesIn(test::levels_here()), test::level_name);

TEST_P(QuantiseTest, RoundsToNearestUnderTheLargestMagnitude) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        const float spread = std::ldexp(1.0f, static_cast<int>(seed) - 100);
        const std::vector<float> values = test::random_floats(seed, 32, spread);
        const ActBlock block = quantise_one(values);
        float amax = 0;
        for (const float value : values) amax = std::max(amax, std::fabs(value));
        ASSERT_EQ(block.d, amax / 127.0f);
        for (int j = 0; j < 32; ++j)
            ASSERT_LE(std::fabs(values[j] / static_cast<double>(block.d) - block.q[j]), 0.50001)
                << seed << " " << j;
        ActBlock expected = block;
        test::take_sums(expected);
        ASSERT_EQ(std::memcmp(&block, &expected, sizeof block), 0);
    }
}

TEST_P(QuantiseTest, IsTheSameOnEveryLevel) {
    Activations here(1, 32 * 50, 700);
    Activations scalar(1, 32 * 50, 700);
    here.quantise(k_);
    scalar.quantise(kernels(SimdLevel::scalar));
    EXPECT_EQ(std::memcmp(here.blocks.data(), scalar.blocks.data(), sizeof(ActBlock) * 50), 0);
    EXPECT_EQ(here.refined, scalar.refined);
    for (size_t i = 0; i < 50; ++i) {
        if (!here.refined[i]) continue;
        EXPECT_EQ(std::memcmp(&here.residuals[i], &scalar.residuals[i], sizeof(ActBlock)), 0) << i;
    }
}

TEST_P(QuantiseTest, ABlockUnderATowerIsRefined) {
    std::vector<float> values = test::random_floats(701, 32);
    const auto error = [&](float tower, bool& refined) {
        Activations x(1, 32, 0);
        x.values = values;
        x.values[5] = tower;
        const std::vector<float> exact = x.values;
        x.quantise(k_);
        refined = x.refined[0];
        float largest = 0;
        for (int j = 0; j < 32; ++j) largest = std::max(largest, std::fabs(exact[j] - x.values[j]));
        return largest;
    };
    bool refined = true;
    EXPECT_GT(error(2.0f, refined), 2.0f / 1000);
    EXPECT_FALSE(refined);
    EXPECT_LT(error(1000.0f, refined), 1000.0f / 127 / 127 / 2 * 1.01f);
    EXPECT_TRUE(refined);
    // Where rounding loses nothing there is nothing to add.
    std::ranges::fill(values, 0.0f);
    EXPECT_EQ(error(1000.0f, refined), 0.0f);
    // Nor where there is no scale.
    error(kNan, refined);
    EXPECT_FALSE(refined);
}

TEST_P(QuantiseTest, TiesGoToEven) {
    std::vector<float> values(32, 0.0f);
    values[0] = -127.0f;
    values[1] = 0.5f;
    values[2] = 1.5f;
    values[3] = -2.5f;
    values[31] = 127.0f;
    const ActBlock block = quantise_one(values);
    EXPECT_EQ(block.q[0], -127);
    EXPECT_EQ(block.q[1], 0);
    EXPECT_EQ(block.q[2], 2);
    EXPECT_EQ(block.q[3], -2);
    EXPECT_EQ(block.q[31], 127);
}

TEST_P(QuantiseTest, ZeroTinyHugeAndBroken) {
    for (const float tiny : {0.0f, -0.0f, 1e-45f, -1e-37f}) {
        const ActBlock block = quantise_one(std::vector<float>(32, tiny));
        EXPECT_EQ(block.d, 0.0f);
        EXPECT_EQ(block.sum, 0);
        for (const int8_t q : block.q) EXPECT_EQ(q, 0);
    }
    const ActBlock huge = quantise_one(std::vector<float>(32, -std::numeric_limits<float>::max()));
    EXPECT_TRUE(std::isfinite(huge.d));
    EXPECT_EQ(huge.sum, -127 * 32);
    for (const float broken : {kNan, -kNan, kInf, -kInf}) {
        std::vector<float> values(32, 1.0f);
        values[17] = broken;
        const ActBlock block = quantise_one(values);
        EXPECT_TRUE(std::isnan(block.d));
        EXPECT_EQ(block.sum, 0);
        for (const int8_t q : block.q) EXPECT_EQ(q, 0);
    }
    k_.quantise(nullptr, {}, 0);
}

}  // namespace
}  // namespace plait::backends::cpu::simd
