#pragma once

#include "plait/backends/cpu/simd/weights-inl.h"
#include "plait/dtype/iq4_xs.h"
#include "plait/dtype/k_scales.h"
#include "plait/dtype/q2_k.h"
#include "plait/dtype/q3_k.h"
#include "plait/dtype/q4_k.h"
#include "plait/dtype/q5_k.h"
#include "plait/dtype/q6_k.h"

// Weight rows in blocks of 256, as weights-inl.h has them: `block` still counts 32 elements, eight of which
// make a stored block. The headers in dtype/ have the byte diagrams.
namespace plait::backends::cpu::simd {
namespace {

// Decoding costs more than what rows could share; weights are all it is for, and only with F32 activations.
struct WideBlockRow {
    static constexpr bool kBlocks = true;
    static constexpr bool kRowTiles = false;
};

// The stored block around 32 elements, and which of its eight parts they are.
template <class Block>
struct Eighth {
    const Block& block;
    int part;

    static Eighth of(const uint8_t* row, int64_t block) {
        return {*reinterpret_cast<const Block*>(row + block / 8 * static_cast<int64_t>(sizeof(Block))),
                static_cast<int>(block % 8)};
    }
};

template <class O>
float half_of(const uint16_t& bits) {
    return O::half(reinterpret_cast<const uint8_t*>(&bits));
}

// 8 of the two-bit codes of Q2_K, Q3_K and Q6_K: elements 8 * Part .. of eighth `part`.
template <class O, int Part>
typename O::I two_bits(const uint8_t* q, int part) {
    const typename O::I bytes = O::load_u8(q + part / 4 * 32 + 8 * Part);
    return O::and_i(O::shift_right_by(bytes, part % 4 * 2), O::set_i(3));
}

// 8 of the nibbles of Q4_K and Q5_K.
template <class O, int Part>
typename O::I paired_nibbles(const uint8_t* q, int part) {
    const typename O::I bytes = O::load_u8(q + part / 2 * 32 + 8 * Part);
    return O::and_i(O::shift_right_by(bytes, part % 2 * 4), O::set_i(15));
}

// One bit of each of 8 bytes, moved to bit `To`.
template <class O, int To>
typename O::I one_bit(const uint8_t* bytes, int bit) {
    return O::template shift_left<To>(O::and_i(O::shift_right_by(O::load_u8(bytes), bit), O::set_i(1)));
}

template <class O, class Block>
typename O::F scale_and_min(typename O::I codes, const Block& block, int scale, int min) {
    const float d = half_of<O>(block.d) * static_cast<float>(scale);
    const float m = half_of<O>(block.dmin) * static_cast<float>(min);
    return O::sub(O::mul(O::to_f(codes), O::set(d)), O::set(m));
}

template <class O>
struct RowQ2_K : WideBlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ2_K>::of(row, at);
        const int scales = block.scales[2 * part + Part / 2];
        return scale_and_min<O>(two_bits<O, Part>(block.q, part), block, scales & 15, scales >> 4);
    }
};

template <class O>
struct RowQ3_K : WideBlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ3_K>::of(row, at);
        const typename O::I low = two_bits<O, Part>(block.low, part);
        const typename O::I codes = O::add_i(low, one_bit<O, 2>(block.high + 8 * Part, part));
        const int scale = dtype::scale_at(block.scales, 2 * part + Part / 2) - 32;
        return O::mul(O::to_f(O::sub_i(codes, O::set_i(4))),
                      O::set(half_of<O>(block.d) * static_cast<float>(scale)));
    }
};

template <class O>
struct RowQ4_K : WideBlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ4_K>::of(row, at);
        const dtype::ScaleMin pair = dtype::scale_min_at(block.scales, part);
        return scale_and_min<O>(paired_nibbles<O, Part>(block.q, part), block, pair.scale, pair.min);
    }
};

template <class O>
struct RowQ5_K : WideBlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ5_K>::of(row, at);
        const dtype::ScaleMin pair = dtype::scale_min_at(block.scales, part);
        const typename O::I low = paired_nibbles<O, Part>(block.low, part);
        const typename O::I codes = O::add_i(low, one_bit<O, 4>(block.high + 8 * Part, part));
        return scale_and_min<O>(codes, block, pair.scale, pair.min);
    }
};

template <class O>
struct RowQ6_K : WideBlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockQ6_K>::of(row, at);
        const typename O::I bytes = O::load_u8(block.low + part / 4 * 64 + part % 2 * 32 + 8 * Part);
        const typename O::I low = O::and_i(O::shift_right_by(bytes, part / 2 % 2 * 4), O::set_i(15));
        const typename O::I codes =
            O::add_i(low, O::template shift_left<4>(two_bits<O, Part>(block.high, part)));
        const float scale = static_cast<float>(block.scales[2 * part + Part / 2]);
        return O::mul(O::to_f(O::sub_i(codes, O::set_i(32))), O::set(half_of<O>(block.d) * scale));
    }
};

// The scale of 32 elements.
template <class O>
float iq4_xs_scale(const dtype::BlockIQ4_XS& block, int part) {
    const int low = block.scales_low[part / 2] >> (part % 2 * 4) & 15;
    const int high = block.scales_high >> (2 * part) & 3;
    return half_of<O>(block.d) * static_cast<float>((low | high << 4) - 32);
}

template <class O>
struct RowIQ4_XS : WideBlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t at) {
        const auto [block, part] = Eighth<dtype::BlockIQ4_XS>::of(row, at);
        const typename O::I values = O::lookup_i(dtype::kIq4Values, nibbles<O, Part>(block.q + 16 * part));
        return O::mul(O::to_f(values), O::set(iq4_xs_scale<O>(block, part)));
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
