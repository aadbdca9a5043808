#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/dtype/half.h"

// What the block formats' encoders share. Internal to this room.
namespace plait::dtype {

// A number every encoder can work with: NaN becomes 0, an infinity the largest finite value of its sign.
inline float finite(float value) {
    constexpr float kMax = std::numeric_limits<float>::max();
    return std::isnan(value) ? 0.0f : std::clamp(value, -kMax, kMax);
}

// A scale or minimum that stays finite when it is stored as F16.
inline float clamp_to_f16(float value) { return std::clamp(value, -kMaxF16, kMaxF16); }

// 1 / scale, or 0 for a scale that is stored as zero: every value of such a block decodes to the same number.
inline float inverse_scale(float scale) { return (f32_to_f16(scale) & 0x7FFFu) == 0 ? 0.0f : 1.0f / scale; }

// Nearest integer, ties to even, limited to [low, high]; the limits lie within +-2^22. Adding 1.5 * 2^23
// leaves no fraction bits, so the addition itself rounds.
inline int round_to_int(float value, int low, int high) {
    constexpr float kShift = 12582912.0f;
    const float limited = std::clamp(value, static_cast<float>(low), static_cast<float>(high));
    return static_cast<int>((limited + kShift) - kShift);
}

// Of N values the one of largest magnitude, the first of several; 0 if all are 0.
template <int N>
float signed_extreme(const float* values) {
    float extreme = 0.0f;
    for (int j = 0; j < N; ++j) {
        const float value = finite(values[j]);
        if (std::fabs(value) > std::fabs(extreme)) extreme = value;
    }
    return extreme;
}

struct Range {
    float min, max;
};

template <int N>
Range range_of(const float* values) {
    Range range{finite(values[0]), finite(values[0])};
    for (int j = 1; j < N; ++j) {
        range.min = std::min(range.min, finite(values[j]));
        range.max = std::max(range.max, finite(values[j]));
    }
    return range;
}

}  // namespace plait::dtype
