// Products in tiles against those of avx512vnni: the same bits. With the tiles of the machine where it has
// some, and with tile_model-inl.h's.
#include <cmath>

#include "plait/backends/cpu/simd/pack_x8.h"
#include "plait/backends/cpu/simd/test_support.h"
#include "plait/backends/cpu/simd/tile_model-inl.h"
#include "plait/base/ensure.h"

namespace plait::backends::cpu::simd {

void tile_fault(const char* expected) { ensure_failed("tile model", __FILE__, __LINE__, expected); }

namespace {

using dtype::DType;

constexpr float kCanary = -12345.0f;

struct Table {
    const char* name;
    const PerFormat<MatmulFn>& (*products)();
};

std::vector<Table> tables_here() {
    std::vector<Table> tables;
    if (has_level(SimdLevel::avx512vnni)) tables.push_back({"model", kernels_amx_model});
    if (has_level(SimdLevel::amx))
        tables.push_back(
            {"amx", []() -> const PerFormat<MatmulFn>& { return kernels(SimdLevel::amx).matmul_q8_x8; }});
    return tables;
}

class TilesTest : public testing::TestWithParam<Table> {
  protected:
    void TearDown() override { EXPECT_FALSE(kernels_amx_model_holds_tiles()); }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TilesTest);
INSTANTIATE_TEST_SUITE_P(Tables, TilesTest, testing::ValuesIn(tables_here()),
                         [](const auto& table) { return table.param.name; });

std::vector<DType> packed_types() {
    std::vector<DType> types;
    for (const dtype::DTypeInfo& row : dtype::table())
        if (can_pack_x8(row.type)) types.push_back(row.type);
    return types;
}

// Every 50th activation is an outlier, so that some blocks are refined.
struct Case {
    DType type;
    int64_t rows, tokens, k;
    test::Rows w{type, rows, k, 7};
    std::vector<uint8_t> packed;
    std::vector<ActBlock> blocks, residuals;
    std::vector<uint8_t> refined;
    std::vector<float> panel;
    std::vector<int32_t> read_at, write_at;  // empty: in order

    Case(DType format, int64_t n_rows, int64_t n_tokens, int64_t n)
        : type(format), rows(n_rows), tokens(n_tokens), k(n) {
        packed.resize(static_cast<size_t>(packed_rows(rows) * w.row_bytes));
        pack_x8(type, {w.bytes.data(), w.row_bytes, packed.data(), rows, w.stored});
        std::vector<float> values = test::random_floats(8, tokens * k);
        for (size_t i = 3; i < values.size(); i += 50) values[i] *= 30;
        const size_t n_blocks = values.size() / 32;
        blocks.resize(n_blocks);
        refined.resize(n_blocks);
        residuals.assign(n_blocks, ActBlock{.d = test::kNan});
        kernels(SimdLevel::scalar)
            .quantise(values.data(), {blocks.data(), refined.data(), residuals.data()}, tokens * k);
        panel.assign(static_cast<size_t>(simd::panel_bytes(k)) / sizeof(float) + 16, test::kNan);
    }

    bool has_refined() const { return std::ranges::find(refined, 1) != refined.end(); }

    std::vector<float> run(const PerFormat<MatmulFn>& products) {
        std::vector<float> out(static_cast<size_t>(tokens * (rows + 1)), kCanary);
        const auto panel_at = (reinterpret_cast<uintptr_t>(panel.data()) + 63) / 64 * 64;
        products.of[static_cast<size_t>(type)]({
            .weights = packed.data(),
            .row_bytes = w.row_bytes,
            .activations = blocks.data(),
            .activation_bytes = k / 32 * int64_t{sizeof(ActBlock)},
            .refined = refined.data(),
            .residuals = residuals.data(),
            .out = out.data(),
            .out_stride = rows + 1,
            .rows = rows,
            .tokens = tokens,
            .k = k,
            .read_at = read_at.empty() ? nullptr : read_at.data(),
            .write_at = write_at.empty() ? nullptr : write_at.data(),
            .workspace = reinterpret_cast<void*>(panel_at),
        });
        return out;
    }

    void expect_same(const Table& table) {
        const std::vector<float> found = run(table.products());
        const std::vector<float> expected = run(kernels(SimdLevel::avx512vnni).matmul_q8_x8);
        ASSERT_TRUE(test::same_bits(found, expected))
            << dtype::info(type).name << " rows " << rows << " tokens " << tokens << " k " << k;
        for (int64_t t = 0; t < tokens; ++t) ASSERT_EQ(found[t * (rows + 1) + rows], kCanary);
        ASSERT_TRUE(rows == 1 || found[0] != found[1]);
    }
};

TEST_P(TilesTest, AnyNumberOfTokensHasTheBitsOfVectors) {
    for (const DType type : packed_types())
        for (int64_t tokens = 1; tokens <= 40; ++tokens) Case(type, 33, tokens, 96).expect_same(GetParam());
}

TEST_P(TilesTest, AnyNumberOfRowsHasTheBitsOfVectors) {
    for (const DType type : packed_types())
        for (const int64_t rows : {1, 7, 8, 9, 15, 16, 17, 31, 32, 47, 64, 65, 100})
            Case(type, rows, 19, 64).expect_same(GetParam());
}

// Slabs that are whole, and that are not.
TEST_P(TilesTest, AnyLengthHasTheBitsOfVectors) {
    for (const DType type : packed_types())
        for (const int64_t k : {32, 64, 224, 256, 288, 320, 512, 800})
            Case(type, 37, 21, k).expect_same(GetParam());
}

TEST_P(TilesTest, MoreTokensThanAChunkHas) {
    for (const int64_t tokens : {127, 128, 129, 150, 272})
        Case(DType::Q4_K, 20, tokens, 288).expect_same(GetParam());
}

TEST_P(TilesTest, TokensMayLieAnywhere) {
    for (const DType type : packed_types()) {
        Case one(type, 40, 35, 320);
        ASSERT_TRUE(one.has_refined());
        for (int32_t t = 0; t < 35; ++t) {
            one.read_at.push_back(t * 12 % 35);
            one.write_at.push_back(34 - t);
        }
        one.expect_same(GetParam());
        std::ranges::fill(one.read_at, 5);
        one.expect_same(GetParam());
    }
}

// Codes and activations at the ends of their range.
TEST_P(TilesTest, ExtremeCodesHaveTheBitsOfVectors) {
    for (const DType type : packed_types()) {
        Case one(type, 16, 18, 256);
        std::ranges::fill(one.refined, 0);
        for (size_t i = 0; i < one.blocks.size(); ++i) {
            ActBlock& block = one.blocks[i];
            block.d = 0.25f;
            for (int j = 0; j < 32; ++j) block.q[j] = i % 3 == 0 || (i % 3 == 1 && j % 2 == 0) ? -127 : 127;
            test::take_sums(block);
        }
        one.expect_same(GetParam());
    }
}

TEST_P(TilesTest, ANanReachesItsTokenOnly) {
    Case one(DType::Q6_K, 20, 18, 64);
    one.blocks[2 * 7 + 1] = {.d = test::kNan};
    one.refined[2 * 7 + 1] = 0;
    const std::vector<float> found = one.run(GetParam().products());
    for (int64_t t = 0; t < 18; ++t)
        for (int64_t r = 0; r < 20; ++r) EXPECT_EQ(std::isnan(found[t * 21 + r]), t == 7) << t << "," << r;
}

TEST_P(TilesTest, NothingToDoWritesNothing) {
    Case one(DType::Q4_0, 16, 3, 32);
    one.rows = 0;
    for (const float value : one.run(GetParam().products())) EXPECT_EQ(value, kCanary);
    one.rows = 16;
    one.tokens = 0;
    one.run(GetParam().products());
}

// --- the model is one of the processor's, which takes no other configurations

TEST(TileConfiguration, UsesWhatIsNeeded) {
    const TileConfig both = tile_config(37, 1);
    EXPECT_EQ(both.rows[kFullTile], 16);
    EXPECT_EQ(both.rows[kRestTile], 5);
    EXPECT_EQ(both.row_bytes[kRestTile], 32);
    EXPECT_EQ(both.rows[kWeightTiles], 8);
    const TileConfig few = tile_config(5, 2);
    EXPECT_EQ(few.rows[kFullTile], 0);
    EXPECT_EQ(few.row_bytes[kFullTile], 0);
    EXPECT_EQ(few.row_bytes[kRestTile], 16);
    EXPECT_EQ(few.row_bytes[kRestTile + 2], 64);
    EXPECT_EQ(few.rows[kWeightTiles + 1], 4);
    EXPECT_EQ(tile_config(32, 1).rows[kRestTile], 0);
}

TEST(TileModelTest, MultipliesSignedBytes) {
    TileConfig config;
    const auto shape = [&](int tile, int rows, int bytes) {
        config.rows[tile] = static_cast<uint8_t>(rows);
        config.row_bytes[tile] = static_cast<uint16_t>(bytes);
    };
    shape(0, 2, 12);  // sums: 2 x 3
    shape(1, 2, 8);
    shape(2, 2, 12);
    const int8_t a[2][8] = {{1, 2, 3, 4, 5, 6, 7, 8}, {-128, 127, -1, 0, 0, 0, 0, 1}};
    const int8_t b[2][12] = {{1, 1, 1, 1, 2, 0, 0, 0, -128, -128, -128, -128},
                             {1, 1, 1, 1, 0, 0, 0, 3, -128, -128, -128, -128}};
    int32_t sums[2][4] = {};
    TileModel::configure(config);
    TileModel::load<1>(a, 8);
    TileModel::load<2>(b, 12);
    TileModel::zero<0>();
    TileModel::dot_s8<0, 1, 2>();
    TileModel::store<0>(sums, 16);
    TileModel::release();
    EXPECT_EQ(std::vector<int32_t>(sums[0], sums[0] + 4), (std::vector<int32_t>{36, 26, -4608, 0}));
    EXPECT_EQ(std::vector<int32_t>(sums[1], sums[1] + 4), (std::vector<int32_t>{-1, -253, 128, 0}));
}

TEST(TileModelDeathTest, StopsWhatAProcessorWouldRefuse) {
    EXPECT_DEATH(TileModel::zero<0>(), "a register with rows");
    TileConfig config = tile_config(16, 1);
    config.palette = 2;
    EXPECT_DEATH(TileModel::configure(config), "palette 1");
    config = tile_config(16, 1);
    config.rows[2] = 17;
    EXPECT_DEATH(TileModel::configure(config), "at most 16 rows");
    config = tile_config(16, 1);
    config.rows[kRestTile] = 1;
    EXPECT_DEATH(TileModel::configure(config), "rows and bytes, or neither");
    config = tile_config(16, 1);
    config.rows[8] = 1;
    config.row_bytes[8] = 4;
    EXPECT_DEATH(TileModel::configure(config), "8 registers");
    TileModel::configure(tile_config(16, 2));
    EXPECT_DEATH((TileModel::dot_s8<kWeightTiles, kFullTile, 1>()), "sums as large as the product");
    EXPECT_DEATH(TileModel::zero<kRestTile>(), "a register with rows");
    EXPECT_DEATH((TileModel::dot_s8<1, 1, kWeightTiles>()), "three registers");
    TileModel::release();
}

}  // namespace
}  // namespace plait::backends::cpu::simd
