#pragma once

#include <bit>
#include <cstdint>

// Conversions between F32 and the two 16-bit float formats, in portable integer arithmetic: exact where the
// target can hold the value, round to nearest even where it cannot. A NaN stays a NaN (its quiet bit set when
// it is narrowed, its upper payload bits kept), infinities stay, and what is beyond the largest finite value
// becomes infinity, as IEEE 754 asks. Formats that must not store an infinity clamp with kMaxF16 or kMaxBF16
// first.
namespace plait::dtype {

constexpr float kMaxF16 = 65504.0f;          // 2^15 * (2 - 2^-10)
constexpr float kMaxBF16 = 0x1.FEp+127f;     // 2^127 * (2 - 2^-7)
constexpr float kMinNormalF16 = 0x1.0p-14f;  // below it steps are 2^-24
constexpr float kMinSubnormalF16 = 0x1.0p-24f;

constexpr float f16_to_f32(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 0x1Fu;
    const uint32_t mantissa = half & 0x3FFu;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * kMinSubnormalF16;
        return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
    }
    const uint32_t wide_exponent = exponent == 0x1Fu ? 0xFFu : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide_exponent << 23 | mantissa << 13);
}

constexpr uint16_t f32_to_f16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    uint32_t half = 0;
    if (magnitude > 0x7F800000u) {  // NaN
        half = 0x7E00u | ((magnitude >> 13) & 0x1FFu);
    } else if (magnitude >= 0x47800000u) {  // 2^16 and up
        half = 0x7C00u;
    } else if (magnitude >=
               0x38800000u) {  // normal; a carry out of the mantissa raises the exponent, up to infinity
        const uint32_t rebiased = magnitude - ((127u - 15u) << 23);
        half = (rebiased + 0xFFFu + ((rebiased >> 13) & 1u)) >> 13;
    } else {  // subnormal: one ulp of 0.5f is one step of the format, so this addition does the rounding
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        half = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f);
    }
    return static_cast<uint16_t>(sign | half);
}

constexpr float bf16_to_f32(uint16_t upper) {
    return std::bit_cast<float>(static_cast<uint32_t>(upper) << 16);
}

constexpr uint16_t f32_to_bf16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace plait::dtype
