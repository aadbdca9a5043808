#include "plait/dtype/mxfp4.h"

#include <algorithm>
#include <cmath>

#include "plait/dtype/blocks.h"
#include "plait/dtype/code_values.h"

namespace plait::dtype {
namespace {

constexpr int kHalf = BlockMXFP4::kElements / 2;

}  // namespace

void decode_mxfp4(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockMXFP4>(blocks, values, n, [](const BlockMXFP4& block, float* out) {
        const float d = half_of_e8m0(block.e);
        for (int j = 0; j < kHalf; ++j) {
            out[j] = static_cast<float>(kE2m1Values[block.q[j] & 15]) * d;
            out[j + kHalf] = static_cast<float>(kE2m1Values[block.q[j] >> 4]) * d;
        }
    });
}

// Codes under 2^0 have a mean square of 34.25. A block takes one of the two powers around the wanted scale,
// by its random e, so often that the mean square over many is met.
void tame_mxfp4(void* blocks, int64_t n, float deviation) {
    const float wanted = deviation * deviation / 34.25f;  // 4^p
    const int low = std::ilogb(std::sqrt(wanted));
    const float share_of_upper = (wanted / std::ldexp(1.0f, 2 * low) - 1) / 3;
    change_blocks<BlockMXFP4>(blocks, n, [&](BlockMXFP4& block) {
        const bool upper = static_cast<float>(block.e) < share_of_upper * 256;
        block.e = static_cast<uint8_t>(std::clamp(128 + low + (upper ? 1 : 0), 0, 254));
    });
}

}  // namespace plait::dtype
