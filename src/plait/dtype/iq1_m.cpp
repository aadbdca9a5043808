#include "plait/dtype/iq1_m.h"

#include "plait/dtype/blocks.h"
#include "plait/dtype/codebooks.h"

namespace plait::dtype {
namespace {

uint16_t scale_of(const BlockIQ1_M& block) {
    int bits = 0;
    for (int word = 0; word < 4; ++word) bits |= block.words[word][1] >> 4 << (4 * word);
    return static_cast<uint16_t>(bits);
}

void decode_block(const BlockIQ1_M& block, float* values) {
    const float d = f16_to_f32(scale_of(block));
    for (int point = 0; point < 32; ++point) {
        const int p = block.high[point / 2] >> (point % 2 * 4) & 15;
        const int index = block.low[point] | (p & 7) << 8;
        const int scale = read_u16(block.words[point / 8]) >> (point / 2 % 4 * 3) & 7;
        decode_iq1_entry(kIq1Grid[index], p & 8 ? -kIq1Shift : kIq1Shift,
                         d * static_cast<float>(2 * scale + 1), values + 8 * point);
    }
}

}  // namespace

void decode_iq1_m(const void* blocks, float* values, int64_t n) {
    decode_blocks<BlockIQ1_M>(blocks, values, n, decode_block);
}

void tame_iq1_m(void* blocks, int64_t n, float deviation) {
    const int d = f32_to_f16(deviation / 7.198f);
    change_blocks<BlockIQ1_M>(blocks, n, [&](BlockIQ1_M& block) {
        for (int word = 0; word < 4; ++word)
            block.words[word][1] =
                static_cast<uint8_t>((block.words[word][1] & 15) | (d >> (4 * word) & 15) << 4);
    });
}

}  // namespace plait::dtype
