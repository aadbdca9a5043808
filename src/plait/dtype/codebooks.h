#pragma once

#include <array>
#include <bit>
#include <cstdint>

// The grids that codes of the IQ2, IQ3 and IQ1 formats point into: points chosen by the authors of ggml's
// "i-quants" (ggml-common.h: iq2xxs_grid and so on), which follow no formula. Internal to this room.
namespace plait::dtype {

// Entries of a grid are packed: the index of each value among the grid's magnitudes, the first value lowest.
// 8 values, 2 bits each, of kIq2Magnitudes.
extern const std::array<uint16_t, 256> kIq2XxsGrid;
extern const std::array<uint16_t, 512> kIq2XsGrid;
extern const std::array<uint16_t, 1024> kIq2SGrid;
// 4 values, 3 bits each, of kIq3XxsMagnitudes and kIq3SMagnitudes.
extern const std::array<uint16_t, 256> kIq3XxsGrid;
extern const std::array<uint16_t, 512> kIq3SGrid;
// 8 values, 2 bits each, minus 1: -1, 0 or 1.
extern const std::array<uint16_t, 2048> kIq1Grid;

inline constexpr std::array<float, 4> kIq2Magnitudes = {8, 25, 43, 0};  // 3 is in no entry
inline constexpr std::array<float, 8> kIq3XxsMagnitudes = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::array<float, 8> kIq3SMagnitudes = {1, 3, 5, 7, 9, 11, 13, 15};

// IQ1_S and IQ1_M move every value of a group up or down by this.
inline constexpr float kIq1Shift = 0.125f;

// 7 bits say the signs of 8 values: the eighth makes the number of negative ones even (ggml: ksigns_iq2xs).
constexpr uint8_t signs_of_7_bits(uint32_t bits) {
    return static_cast<uint8_t>(bits | (static_cast<uint32_t>(std::popcount(bits)) & 1u) << 7);
}

// Writes the 8 values of an entry of an IQ2 grid, times `scale`, negative where `signs` has a bit.
inline void decode_iq2_entry(uint32_t entry, uint32_t signs, float scale, float* values) {
    for (int j = 0; j < 8; ++j) {
        const float value = scale * kIq2Magnitudes[entry >> (2 * j) & 3u];
        values[j] = signs >> j & 1u ? -value : value;
    }
}

// The same for the 4 values of an entry of an IQ3 grid.
inline void decode_iq3_entry(uint32_t entry, const std::array<float, 8>& magnitudes, uint32_t signs,
                             float scale, float* values) {
    for (int j = 0; j < 4; ++j) {
        const float value = scale * magnitudes[entry >> (3 * j) & 7u];
        values[j] = signs >> j & 1u ? -value : value;
    }
}

inline void decode_iq1_entry(uint32_t entry, float shift, float scale, float* values) {
    for (int j = 0; j < 8; ++j)
        values[j] = scale * (static_cast<float>(static_cast<int>(entry >> (2 * j) & 3u) - 1) + shift);
}

}  // namespace plait::dtype
