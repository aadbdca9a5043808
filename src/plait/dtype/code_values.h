#pragma once

#include <cstdint>

// What four-bit codes stand for. Plain C++ without external linkage: kernels built with instruction-set flags
// of their own include this too.
namespace plait::dtype {
namespace {

// IQ4_NL and IQ4_XS (ggml-common.h: kvalues_iq4nl).
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// MXFP4 and NVFP4: twice the value of an E2M1 number (OCP Microscaling Formats 1.0, 5.3.3).
constexpr int8_t kE2m1Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Half of an E8M0 number, 2^(e - 128), as it belongs to the doubled values above. The two smallest are
// subnormal.
inline float half_of_e8m0(uint8_t e) {
    const uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23;
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace
}  // namespace plait::dtype
