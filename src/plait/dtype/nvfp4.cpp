#include "plait/dtype/nvfp4.h"

#include <cmath>

#include "plait/dtype/blocks.h"
#include "plait/dtype/code_values.h"

namespace plait::dtype {
namespace {

constexpr int kGroup = 16;
constexpr int kLargest = 0x7E;

// Half of what the byte stands for.
float half_of_ue4m3(uint8_t d) {
    if (d == 0x7F) return 0.0f;
    const int exponent = d >> 3 & 15;
    const auto mantissa = static_cast<float>(d & 7);
    return exponent == 0 ? std::ldexp(mantissa, -10) : std::ldexp(8.0f + mantissa, exponent - 11);
}

}  // namespace

void decode_nvfp4(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockNVFP4>(blocks, values, n, [](const BlockNVFP4& block, float* out) {
        for (int i = 0; i < BlockNVFP4::kElements; ++i) {
            const int group = i / kGroup;
            const int within = i % kGroup;
            const int byte = block.q[group * kGroup / 2 + within % (kGroup / 2)];
            out[i] = static_cast<float>(kE2m1Values[within < kGroup / 2 ? byte & 15 : byte >> 4]) *
                     half_of_ue4m3(block.d[group]);
        }
    });
}

// Codes under d = 2 have a mean square of 34.25. A group takes one of the two numbers around the wanted
// scale, by its random d, so often that the mean square over many is met.
void tame_nvfp4(void* blocks, int64_t n, float deviation) {
    const float wanted = deviation * deviation / 34.25f;
    const auto square = [](int d) { return std::pow(half_of_ue4m3(static_cast<uint8_t>(d)), 2.0f); };
    int upper = 1;
    while (upper < kLargest && square(upper) < wanted) ++upper;
    const float share_of_upper = (wanted - square(upper - 1)) / (square(upper) - square(upper - 1));
    change_blocks<BlockNVFP4>(blocks, n, [&](BlockNVFP4& block) {
        for (uint8_t& d : block.d)
            d = static_cast<uint8_t>(static_cast<float>(d) < share_of_upper * 256 ? upper : upper - 1);
    });
}

}  // namespace plait::dtype
