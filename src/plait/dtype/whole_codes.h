#pragma once

#include <cstdint>

// Blocks of the formats whose values have to be looked up or worked out (points of a grid, base 3) as whole
// numbers under a scale, for kernels that multiply bytes: value[i] = (codes[i] - offset) * scales[i / 16],
// the value of the format's decoder up to rounding. Codes are 0 .. 2 * offset.
namespace plait::dtype {

struct WholeCodes {
    uint8_t codes[256];
    float scales[16];
};
using WholeCodesFn = void (*)(const void* block, WholeCodes& out);

inline constexpr int kIq3SOffset = 15;
inline constexpr int kIq3XxsOffset = 62;
inline constexpr int kIq2Offset = 43;
inline constexpr int kIq1Offset = 9;  // points in eighths, with the shift
inline constexpr int kTq1Offset = 1;

void whole_codes_iq3_s(const void* block, WholeCodes& out);
void whole_codes_iq3_xxs(const void* block, WholeCodes& out);
void whole_codes_iq2_s(const void* block, WholeCodes& out);
void whole_codes_iq2_xs(const void* block, WholeCodes& out);
void whole_codes_iq2_xxs(const void* block, WholeCodes& out);
void whole_codes_iq1_m(const void* block, WholeCodes& out);
void whole_codes_iq1_s(const void* block, WholeCodes& out);
void whole_codes_tq1_0(const void* block, WholeCodes& out);

}  // namespace plait::dtype
