#pragma once

#include <cstdint>

#include "plait/dtype/code_values.h"

// Weight rows in GGUF's layout as floats: load<Part>(row, block) gives elements 32 * block + 8 * Part and the
// next 7, exactly as dtype's decoders do. Element formats also have load_partial for the end of a row; block
// rows end with a whole block.
namespace plait::backends::cpu::simd {
namespace {

template <class O, int kBytes>
struct ElementRow {
    static constexpr bool kBlocks = false;
    static constexpr bool kRowTiles = true;
    static constexpr int kElementBytes = kBytes;
    static const uint8_t* at(const uint8_t* row, int64_t element) { return row + element * kBytes; }
    // The n < 8 elements at p, behind them zeros, as bytes to load from.
    struct Copy {
        alignas(kBytes) uint8_t bytes[8 * kBytes] = {};
        Copy(const uint8_t* p, int64_t n) {
            for (int64_t i = 0; i < n * kBytes; ++i) bytes[i] = p[i];
        }
    };
};

template <class O>
struct RowF32 : ElementRow<O, 4> {
    static typename O::F load_at(const uint8_t* p) { return O::load(reinterpret_cast<const float*>(p)); }
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        return load_at(RowF32::at(row, 32 * block + 8 * Part));
    }
    static typename O::F load_partial(const uint8_t* row, int64_t element, int64_t n) {
        const typename RowF32::Copy copy(RowF32::at(row, element), n);
        return load_at(copy.bytes);
    }
};

template <class O>
struct RowF16 : ElementRow<O, 2> {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        return O::load_f16(RowF16::at(row, 32 * block + 8 * Part));
    }
    static typename O::F load_partial(const uint8_t* row, int64_t element, int64_t n) {
        const typename RowF16::Copy copy(RowF16::at(row, element), n);
        return O::load_f16(copy.bytes);
    }
};

template <class O>
struct RowBF16 : ElementRow<O, 2> {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        return O::load_bf16(RowBF16::at(row, 32 * block + 8 * Part));
    }
    static typename O::F load_partial(const uint8_t* row, int64_t element, int64_t n) {
        const typename RowBF16::Copy copy(RowBF16::at(row, element), n);
        return O::load_bf16(copy.bytes);
    }
};

struct BlockRow {
    static constexpr bool kBlocks = true;
    static constexpr bool kRowTiles = true;  // worth walking several rows together, for several tokens
};

template <class O>
struct RowQ8_0 : BlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 34 * block;
        return O::mul(O::to_f(O::load_i8(p + 2 + 8 * Part)), O::set(O::half(p)));
    }
};

// Numbers 8 * Part .. + 7 of 32 packed as low nibbles of 16 bytes, then their high nibbles.
template <class O, int Part>
typename O::I nibbles(const uint8_t* q) {
    const typename O::I bytes = O::load_u8(q + 8 * (Part % 2));
    if constexpr (Part < 2)
        return O::and_i(bytes, O::set_i(15));
    else
        return O::template shift_right<4>(bytes);
}

template <class O>
struct RowQ4_0 : BlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 18 * block;
        return O::mul(O::to_f(O::sub_i(nibbles<O, Part>(p + 2), O::set_i(8))), O::set(O::half(p)));
    }
};

template <class O>
struct RowQ4_1 : BlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 20 * block;
        const typename O::F product = O::mul(O::to_f(nibbles<O, Part>(p + 4)), O::set(O::half(p)));
        return O::add(product, O::set(O::half(p + 2)));
    }
};

// Numbers 8 * Part .. + 7 of 32 whose fifth bits lie in 4 bytes in front of the nibbles.
template <class O, int Part>
typename O::I five_bits(const uint8_t* high) {
    return O::add_i(nibbles<O, Part>(high + 4), O::expand_bits_i(high[Part], 16));
}

template <class O>
struct RowQ5_0 : BlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 22 * block;
        return O::mul(O::to_f(O::sub_i(five_bits<O, Part>(p + 2), O::set_i(16))), O::set(O::half(p)));
    }
};

template <class O>
struct RowQ5_1 : BlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 24 * block;
        const typename O::F product = O::mul(O::to_f(five_bits<O, Part>(p + 4)), O::set(O::half(p)));
        return O::add(product, O::set(O::half(p + 2)));
    }
};

template <class O>
struct RowIQ4_NL : BlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 18 * block;
        const typename O::I values = O::lookup_i(dtype::kIq4Values, nibbles<O, Part>(p + 2));
        return O::mul(O::to_f(values), O::set(O::half(p)));
    }
};

template <class O>
struct RowMXFP4 : BlockRow {
    template <int Part>
    static typename O::F load(const uint8_t* row, int64_t block) {
        const uint8_t* p = row + 17 * block;
        const typename O::I values = O::lookup_i(dtype::kE2m1Values, nibbles<O, Part>(p + 1));
        return O::mul(O::to_f(values), O::set(dtype::half_of_e8m0(p[0])));
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
