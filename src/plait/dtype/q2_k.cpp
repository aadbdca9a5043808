#include "plait/dtype/q2_k.h"

#include "plait/dtype/blocks.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockQ2_K& block, float* values) {
    const float d = f16_to_f32(block.d);
    const float dmin = f16_to_f32(block.dmin);
    for (int i = 0; i < BlockQ2_K::kElements; ++i) {
        const int scales = block.scales[i / 16];
        values[i] = static_cast<float>(unpack_2_bits(block.q, i)) * (d * static_cast<float>(scales & 15)) -
                    dmin * static_cast<float>(scales >> 4);
    }
}

}  // namespace

void decode_q2_k(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockQ2_K>(blocks, values, n, decode_block);
}

void tame_q2_k(void* blocks, int64_t n, float deviation) {
    tame_scale_and_min<BlockQ2_K>(blocks, n, deviation, 13.87f, 1.5f);
}

}  // namespace plait::dtype
