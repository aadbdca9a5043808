#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "plait/backends/cpu/simd/select.h"
#include "plait/dtype/dtype.h"

// What the kernel tests share.
namespace plait::backends::cpu::simd::test {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Runs a test once per level of this machine.
inline std::vector<SimdLevel> levels_here() {
    std::vector<SimdLevel> out;
    for (const SimdLevel level : kAllLevels)
        if (has_level(level)) out.push_back(level);
    return out;
}

inline std::string level_name(const testing::TestParamInfo<SimdLevel>& level) { return name(level.param); }

class LevelTest : public testing::TestWithParam<SimdLevel> {
  protected:
    const KernelTable& k_ = kernels(GetParam());
};

// Normal values around `mean`, never all the same.
inline std::vector<float> random_floats(uint32_t seed, int64_t n, float spread = 1.0f, float mean = 0.0f) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(mean, spread);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = normal(random);
    return values;
}

// Random rows of a weight format; block formats end in whole blocks whose surplus is random too.
struct Rows {
    dtype::DType type;
    int64_t rows, k, stored;  // elements of a row, and with its padding
    int64_t row_bytes;
    std::vector<uint8_t> bytes;
    std::vector<float> values;  // decoded, rows x stored

    Rows(dtype::DType format, int64_t n_rows, int64_t n, uint32_t seed, float spread = 1.0f)
        : type(format),
          rows(n_rows),
          k(n),
          stored(dtype::padded_elements(format, n)),
          row_bytes(dtype::row_bytes(format, stored)),
          bytes(static_cast<size_t>(n_rows * row_bytes)),
          values(static_cast<size_t>(n_rows * stored)) {
        const dtype::DTypeInfo& row = dtype::info(type);
        if (row.encode != nullptr) {
            const std::vector<float> source = random_floats(seed, rows * stored, spread);
            row.encode(source.data(), bytes.data(), rows * stored);
        } else {
            std::mt19937 random(seed);
            for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
            row.tame(bytes.data(), rows * stored, std::min(spread, 1.0f));
        }
        decode();
    }

    void decode() { dtype::info(type).decode(bytes.data(), values.data(), rows * stored); }
    float at(int64_t row, int64_t i) const { return values[static_cast<size_t>(row * stored + i)]; }
};

// Gives a block the sums of its numbers.
inline void take_sums(ActBlock& block) {
    int halves[2] = {};
    for (int j = 0; j < 32; ++j) halves[j / 16] += block.q[j];
    block.sum = static_cast<float>(halves[0] + halves[1]);
    block.start = -kCodeBias * (halves[0] + halves[1]);
    for (int half = 0; half < 2; ++half) {
        block.half_sums[half] = static_cast<float>(halves[half]);
        block.half_starts[half] = -kCodeBias * halves[half];
    }
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace plait::backends::cpu::simd::test
