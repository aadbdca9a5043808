#pragma once

#include "plait/backends/cpu/simd/matmul_q8_x8-inl.h"

// matmul_q8_x8 of several tokens where registers are tiles: 16 tokens times 16 rows at once. A panel of 16
// rows (packed-inl.h) lies in memory as such a register wants it. The integer sums are exact, whoever makes
// them; the float steps are those of matmul_q8_x8, and so are the bits.
//
// Tiles are a struct of operations, O::Tiles. Register N has rows of bytes, as configured:
//   configure(const TileConfig&)     for this thread; all zero. Until release(), which leaves nothing to save
//   zero<N>()
//   load<N>(p, stride), store<N>     row i from and to p + i * stride
//   dot_s8<C, A, B>()                C[t][r] += sum over j of A[t][j] * B[j / 4][4 * r + j % 4], A and B
//   signed
//                                    bytes, C 32 bits
namespace plait::backends::cpu::simd {
namespace {

constexpr int kTileTokens = 16;
constexpr int kTileRowBytes = 64;

// As the processor reads it (Intel SDM volume 1, 18.3, palette 1). Registers without rows are not used.
struct alignas(64) TileConfig {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// The eight registers: for 16 tokens, and for the rest of them, one of activations and two of sums; two of
// weights.
constexpr int kFullTile = 0, kRestTile = 3;
constexpr int kWeightTiles = 6;

constexpr TileConfig tile_config(int64_t tokens, int halves) {
    TileConfig config;
    const auto shape = [&](int tile, int64_t rows, int bytes) {
        if (rows == 0) return;
        config.rows[tile] = static_cast<uint8_t>(rows);
        config.row_bytes[tile] = static_cast<uint16_t>(bytes);
    };
    const auto shape_set = [&](int first, int64_t rows) {
        shape(first, rows, 32 / halves);
        shape(first + 1, rows, kTileRowBytes);
        shape(first + 2, rows, kTileRowBytes);
    };
    shape_set(kFullTile, tokens < kTileTokens ? 0 : kTileTokens);
    shape_set(kRestTile, tokens % kTileTokens);
    shape(kWeightTiles, 8 / halves, kTileRowBytes);
    shape(kWeightTiles + 1, 8 / halves, kTileRowBytes);
    return config;
}

template <class T>
struct ConfiguredTiles {
    explicit ConfiguredTiles(const TileConfig& config) { T::configure(config); }
    ~ConfiguredTiles() { T::release(); }
    ConfiguredTiles(const ConfiguredTiles&) = delete;
    ConfiguredTiles& operator=(const ConfiguredTiles&) = delete;
};

// Elements are taken a slab at a time: its two panels of weights, the activations of a tile and of the next
// one, and the totals of a chunk of tokens stay in the first cache together (44 of 48 KiB).
constexpr int kSlabBlocks = 8;
constexpr int kChunkTokens = 128;
static_assert(kPanelRows == 32 && kChunkTokens % kTileTokens == 0);

// Signed codes count as they are where tiles multiply.
template <class V>
struct UnbiasedOps : V {
    static constexpr int kSignedBias = 0;
};

// One token after the other, kSlabBlocks apart: a tile needs its tokens at equal distances, and power-of-two
// ones would share a few lines of the cache.
inline void gather_slab(const MatmulArgs& a, int64_t first_token, int64_t tokens, int64_t block, int blocks,
                        ActBlock* out) {
    for (int64_t t = 0; t < tokens; ++t, out += kSlabBlocks) {
        const ActBlock* from = activation_row(a, first_token + t) + block;
        if (blocks == kSlabBlocks)
            __builtin_memcpy(out, from, kSlabBlocks * sizeof(ActBlock));
        else
            for (int i = 0; i < blocks; ++i) out[i] = from[i];
    }
}

// A slab of 16 rows times so many tokens.
template <class O, class Source, int Tokens>
struct TileSlab {
    using T = typename O::Tiles;
    using V = UnbiasedOps<typename O::Wide>;
    static constexpr int kHalves = Source::kCoding.halves;
    static constexpr int kFirst = Tokens == kTileTokens ? kFullTile : kRestTile;
    // A step is two products: of two blocks, or of the halves of one.
    static constexpr int kStepBlocks = 2 / kHalves;
    static constexpr int kSumBytes = kTileTokens * kTileRowBytes;

    template <int Which>
    [[gnu::always_inline]] static void product(const ActBlock* x, const uint8_t* panel, uint8_t* sums) {
        constexpr int kBlock = Which / kHalves, kHalf = Which % kHalves;
        constexpr int kSum = kFirst + 1 + Which, kWeights = kWeightTiles + Which;
        T::template zero<kSum>();
        T::template load<kFirst>(x[kBlock].q + 32 / kHalves * kHalf, kSlabBlocks * sizeof(ActBlock));
        T::template load<kWeights>(panel + kBlock * Source::kBytes + Source::kCodeBytes / kHalves * kHalf,
                                   kTileRowBytes);
        T::template dot_s8<kSum, kFirst, kWeights>();
        T::template store<kSum>(sums + Which * kSumBytes, kTileRowBytes);
    }

    // Integer sums of a step's blocks, of which there are `blocks`, or more than a step has.
    [[gnu::always_inline]] static void multiply(const ActBlock* x, const uint8_t* panel, int blocks,
                                                uint8_t* sums) {
        product<0>(x, panel, sums);
        if (kHalves == 2 || blocks > 1) product<1>(x, panel, sums);
    }

    // The float steps of a block.
    [[gnu::always_inline]] static void add(const ActBlock* x, const uint8_t* panel, const uint8_t* sums,
                                           typename V::F (&total)[Tokens]) {
        const auto scales = Source::scales(panel, 0, 0);
#pragma GCC unroll 16
        for (int t = 0; t < Tokens; ++t) {
            typename V::I sum[kHalves][1];
#pragma GCC unroll 2
            for (int half = 0; half < kHalves; ++half)
                sum[half][0] = V::load_vector(sums + half * kSumBytes + t * kTileRowBytes);
            total[t] = add_part<V, Source, 1>(total[t], scales, sum, 0, x[t * kSlabBlocks]);
        }
    }

    // The sums go through memory: while those of one step are read, the tiles make the next one's.
    [[gnu::noinline]] static void run(const ActBlock* x, const uint8_t* panel, int blocks, float* totals) {
        alignas(64) uint8_t sums[2][2 * kSumBytes];
        typename V::F total[Tokens];
#pragma GCC unroll 16
        for (int t = 0; t < Tokens; ++t) total[t] = V::load_rows_f(totals + t * kPanelRows);
        multiply(x, panel, blocks, sums[0]);
        for (int block = 0, now = 0; block < blocks; block += kStepBlocks, now ^= 1) {
            const int next = block + kStepBlocks;
            if (next < blocks)
                multiply(x + next, panel + next * Source::kBytes, blocks - next, sums[now ^ 1]);
            add(x + block, panel + block * Source::kBytes, sums[now], total);
            if (kStepBlocks == 2 && block + 1 < blocks)
                add(x + block + 1, panel + (block + 1) * Source::kBytes, sums[now] + kSumBytes, total);
        }
#pragma GCC unroll 16
        for (int t = 0; t < Tokens; ++t) V::store_rows(totals + t * kPanelRows, total[t]);
    }
};

// Up to kPanelRows rows from `row` on, times up to kChunkTokens tokens.
template <class O, template <class> class Format>
struct TileChunk {
    using V = typename O::Wide;
    using Packed = Format<V>;
    using Source = Panel<UnbiasedOps<V>, signed_coding(Packed::kCoding)>;
    static_assert(Packed::kCoding.most < 128 && V::kGroups == 2 &&
                  Source::kBytes * 2 <= simd::panel_bytes(32));

    const MatmulArgs& a;
    int64_t row;
    int64_t first_token;
    int64_t tokens;
    int vectors = a.rows - row > Source::kRows ? 2 : 1;

    const uint8_t* weights(int vector, int64_t block) const {
        return group_at<Packed>(a, row / 8 + 2 * vector) + block / Packed::kParts * 2 * Packed::kBytes;
    }

    void add_slab(int64_t block, int blocks, float* totals) const {
        alignas(64) ActBlock x[2][kTileTokens * kSlabBlocks];
        auto* panels = static_cast<uint8_t*>(a.workspace);
        const int panel = blocks * Source::kBytes;
        for (int v = 0; v < vectors; ++v)
            fill_panel<V, Format, Source::kCoding>(weights(v, block), 32 * blocks, panels + v * panel,
                                                   Source::kBytes);
        const auto gather = [&](int64_t token) {
            const int64_t left = tokens - token;
            if (left > 0)
                gather_slab(a, first_token + token, left < kTileTokens ? left : kTileTokens, block, blocks,
                            x[token / kTileTokens % 2]);
        };
        gather(0);
        for_tiles<kTileTokens>(tokens, [&]<int Tokens>(int64_t token) {
            gather(token + Tokens);
            for (int v = 0; v < vectors; ++v)
                TileSlab<O, Source, Tokens>::run(x[token / kTileTokens % 2], panels + v * panel, blocks,
                                                 totals + token * kPanelRows + v * Source::kRows);
        });
    }

    void run() const {
        alignas(64) float totals[kChunkTokens * kPanelRows];
        for (int64_t i = 0; i < tokens * kPanelRows; i += Source::kRows) V::store_rows(totals + i, V::zero());
        for (int64_t block = 0; block < a.k / 32; block += kSlabBlocks) {
            const int64_t left = a.k / 32 - block;
            add_slab(block, static_cast<int>(left < kSlabBlocks ? left : kSlabBlocks), totals);
        }
        for (int v = 0; v < vectors; ++v) {
            const int64_t group = row / 8 + 2 * v;
            for (int64_t t = 0; t < tokens; ++t)
                store_group<V>(a, first_token + t, 8 * group,
                               V::load_rows_f(totals + t * kPanelRows + v * Source::kRows));
            add_residuals<V, Packed, 1>(a, {weights(v, 0), 0, 2 * Packed::kBytes, group}, first_token,
                                        tokens);
        }
    }
};

template <class O, template <class> class Format>
void matmul_tiles(const MatmulArgs& a) {
    const ConfiguredTiles<typename O::Tiles> tiles(
        tile_config(a.tokens, Format<typename O::Wide>::kCoding.halves));
    for (int64_t row = 0; row < a.rows; row += kPanelRows) {
        for (int64_t token = 0; token < a.tokens; token += kChunkTokens) {
            const int64_t left = a.tokens - token;
            TileChunk<O, Format>{a, row, token, left < kChunkTokens ? left : kChunkTokens}.run();
        }
    }
}

}  // namespace
}  // namespace plait::backends::cpu::simd
