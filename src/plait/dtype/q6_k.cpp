#include "plait/dtype/q6_k.h"

#include "plait/dtype/blocks.h"

namespace plait::dtype {
namespace {

void decode_block(const BlockQ6_K& block, float* values) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < BlockQ6_K::kElements; ++i) {
        const int nibble = block.low[i / 128 * 64 + i % 64] >> (i / 64 % 2 * 4) & 15;
        const int code = nibble | unpack_2_bits(block.high, i) << 4;
        values[i] = static_cast<float>(code - 32) * (d * static_cast<float>(block.scales[i / 16]));
    }
}

}  // namespace

void decode_q6_k(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockQ6_K>(blocks, values, n, decode_block);
}

void tame_q6_k(void* blocks, int64_t n, float deviation) {
    tame_scale<BlockQ6_K>(blocks, n, deviation, 1366.0f);
}

}  // namespace plait::dtype
