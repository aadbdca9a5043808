#include "plait/dtype/whole_codes.h"

#include <cstring>

#include "plait/dtype/blocks.h"
#include "plait/dtype/codebooks.h"
#include "plait/dtype/iq1_m.h"
#include "plait/dtype/iq1_s.h"
#include "plait/dtype/iq2_s.h"
#include "plait/dtype/iq2_xs.h"
#include "plait/dtype/iq2_xxs.h"
#include "plait/dtype/iq3_s.h"
#include "plait/dtype/iq3_xxs.h"
#include "plait/dtype/tq1_0.h"

namespace plait::dtype {
namespace {

// An entry of a grid as bytes: offset + value and offset - value.
template <class Word>
struct Point {
    Word plus, minus;
};

template <class Word>
Word word_of(const uint8_t* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

// All entries of a grid of `Bits`-bit indices among magnitudes.
template <class Word, size_t N>
struct Points {
    Point<Word> of[N];

    template <size_t Magnitudes>
    Points(const std::array<uint16_t, N>& grid, const std::array<float, Magnitudes>& magnitudes, int bits,
           int offset) {
        for (size_t i = 0; i < N; ++i) {
            uint8_t plus[sizeof(Word)], minus[sizeof(Word)];
            for (size_t j = 0; j < sizeof(Word); ++j) {
                const size_t at =
                    static_cast<size_t>(grid[i]) >> (bits * static_cast<int>(j)) & (Magnitudes - 1);
                const int value = static_cast<int>(magnitudes[at]);
                plus[j] = static_cast<uint8_t>(offset + value);
                minus[j] = static_cast<uint8_t>(offset - value);
            }
            of[i] = {word_of<Word>(plus), word_of<Word>(minus)};
        }
    }
};

// A byte of ones for every bit that is set.
struct Masks {
    uint64_t of[256];
    Masks() {
        for (int bits = 0; bits < 256; ++bits) {
            uint8_t bytes[8];
            for (int j = 0; j < 8; ++j) bytes[j] = bits >> j & 1 ? 0xFF : 0;
            of[bits] = word_of<uint64_t>(bytes);
        }
    }
};
const Masks& masks() {
    static const Masks all;
    return all;
}

// Signs as 7 bits of them say.
struct SevenBitMasks {
    uint64_t of[128];
    SevenBitMasks() {
        for (uint32_t bits = 0; bits < 128; ++bits) of[bits] = masks().of[signs_of_7_bits(bits)];
    }
};
const SevenBitMasks& seven_bit_masks() {
    static const SevenBitMasks all;
    return all;
}

template <class Word>
void put(const Point<Word>& point, Word negative, uint8_t* codes) {
    const Word word = (point.plus & ~negative) | (point.minus & negative);
    std::memcpy(codes, &word, sizeof word);
}
// 8 codes from two points of 4.
void put(const Point<uint32_t>& first, const Point<uint32_t>& second, uint64_t negative, uint8_t* codes) {
    uint32_t halves[2];
    std::memcpy(halves, &negative, sizeof halves);
    put(first, halves[0], codes);
    put(second, halves[1], codes + 4);
}

const Points<uint64_t, 256>& iq2_xxs_points() {
    static const Points<uint64_t, 256> points(kIq2XxsGrid, kIq2Magnitudes, 2, kIq2Offset);
    return points;
}
const Points<uint64_t, 512>& iq2_xs_points() {
    static const Points<uint64_t, 512> points(kIq2XsGrid, kIq2Magnitudes, 2, kIq2Offset);
    return points;
}
const Points<uint64_t, 1024>& iq2_s_points() {
    static const Points<uint64_t, 1024> points(kIq2SGrid, kIq2Magnitudes, 2, kIq2Offset);
    return points;
}
const Points<uint32_t, 256>& iq3_xxs_points() {
    static const Points<uint32_t, 256> points(kIq3XxsGrid, kIq3XxsMagnitudes, 3, kIq3XxsOffset);
    return points;
}
const Points<uint32_t, 512>& iq3_s_points() {
    static const Points<uint32_t, 512> points(kIq3SGrid, kIq3SMagnitudes, 3, kIq3SOffset);
    return points;
}

// Eighths: with the shift up in `plus`, with the shift down in `minus`.
struct Iq1Points {
    Point<uint64_t> of[2048];
    Iq1Points() {
        for (size_t i = 0; i < 2048; ++i) {
            uint8_t plus[8], minus[8];
            for (int j = 0; j < 8; ++j) {
                const int eighths = 8 * ((kIq1Grid[i] >> (2 * j) & 3) - 1);
                plus[j] = static_cast<uint8_t>(kIq1Offset + eighths + 1);
                minus[j] = static_cast<uint8_t>(kIq1Offset + eighths - 1);
            }
            of[i] = {word_of<uint64_t>(plus), word_of<uint64_t>(minus)};
        }
    }
};
const Iq1Points& iq1_points() {
    static const Iq1Points points;
    return points;
}
void put_iq1(const Point<uint64_t>& point, bool down, uint8_t* codes) {
    std::memcpy(codes, down ? &point.minus : &point.plus, 8);
}

template <class Block>
const Block& as(const void* block) {
    return *static_cast<const Block*>(block);
}

// scale(i) of 16 elements each.
template <class Scale>
void set_scales(WholeCodes& out, const Scale& scale) {
    for (int i = 0; i < 16; ++i) out.scales[i] = scale(i);
}

int nibble(const uint8_t* bytes, int i) { return bytes[i / 2] >> (i % 2 * 4) & 15; }

// The digits of eight or four bytes that `power`, a power of 3, brings to the top. Bytes have 16 bits each
// to grow into: every other one at a time.
template <class Word>
Word digits(Word bytes, unsigned power) {
    constexpr Word kEven = static_cast<Word>(0x00FF00FF00FF00FF);
    const auto of_even = [&](Word even) { return ((even * power & kEven) * 3 >> 8) & kEven; };
    return of_even(bytes & kEven) | of_even(bytes >> 8 & kEven) << 8;
}
template <class Word>
void put_digits(const uint8_t* bytes, size_t n, unsigned power, uint8_t* codes) {
    for (size_t i = 0; i < n; i += sizeof(Word)) {
        const Word word = digits(word_of<Word>(bytes + i), power);
        std::memcpy(codes + i, &word, sizeof word);
    }
}

}  // namespace

void whole_codes_iq3_s(const void* block, WholeCodes& out) {
    const auto& b = as<BlockIQ3_S>(block);
    const auto& points = iq3_s_points();
    const auto& mask = masks();
    for (int eight = 0; eight < 32; ++eight) {
        const int high = b.high[eight / 4] >> (eight % 4 * 2);
        put(points.of[b.low[2 * eight] | (high & 1) << 8], points.of[b.low[2 * eight + 1] | (high & 2) << 7],
            mask.of[b.signs[eight]], out.codes + 8 * eight);
    }
    const float d = f16_to_f32(b.d);
    set_scales(out, [&](int i) { return d * static_cast<float>(1 + 2 * nibble(b.scales, i / 2)); });
}

void whole_codes_iq3_xxs(const void* block, WholeCodes& out) {
    const auto& b = as<BlockIQ3_XXS>(block);
    const auto& points = iq3_xxs_points();
    const auto& mask = seven_bit_masks();
    const float d = f16_to_f32(b.d);
    for (int group = 0; group < 8; ++group) {
        const uint32_t word = read_u32(b.groups[group]);
        for (int eight = 0; eight < 4; ++eight) {
            const uint8_t* q = b.q + 8 * group + 2 * eight;
            put(points.of[q[0]], points.of[q[1]], mask.of[word >> (7 * eight) & 127],
                out.codes + 32 * group + 8 * eight);
        }
        out.scales[2 * group] = out.scales[2 * group + 1] =
            d * (static_cast<float>(word >> 28) + 0.5f) * 0.5f;
    }
}

void whole_codes_iq2_xxs(const void* block, WholeCodes& out) {
    const auto& b = as<BlockIQ2_XXS>(block);
    const auto& points = iq2_xxs_points();
    const auto& mask = seven_bit_masks();
    const float d = f16_to_f32(b.d);
    for (int group = 0; group < 8; ++group) {
        const uint32_t word = read_u32(b.groups[group].word);
        for (int eight = 0; eight < 4; ++eight)
            put(points.of[b.groups[group].q[eight]], mask.of[word >> (7 * eight) & 127],
                out.codes + 32 * group + 8 * eight);
        out.scales[2 * group] = out.scales[2 * group + 1] =
            d * (static_cast<float>(word >> 28) + 0.5f) * 0.25f;
    }
}

void whole_codes_iq2_xs(const void* block, WholeCodes& out) {
    const auto& b = as<BlockIQ2_XS>(block);
    const auto& points = iq2_xs_points();
    const auto& mask = seven_bit_masks();
    for (int eight = 0; eight < 32; ++eight) {
        const uint32_t q = b.q[eight];
        put(points.of[q & 511], mask.of[q >> 9], out.codes + 8 * eight);
    }
    const float d = f16_to_f32(b.d);
    set_scales(out, [&](int i) { return d * (static_cast<float>(nibble(b.scales, i)) + 0.5f) * 0.25f; });
}

void whole_codes_iq2_s(const void* block, WholeCodes& out) {
    const auto& b = as<BlockIQ2_S>(block);
    const auto& points = iq2_s_points();
    const auto& mask = masks();
    for (int eight = 0; eight < 32; ++eight) {
        const int high = b.high[eight / 4] >> (eight % 4 * 2) & 3;
        put(points.of[b.low[eight] | high << 8], mask.of[b.signs[eight]], out.codes + 8 * eight);
    }
    const float d = f16_to_f32(b.d);
    set_scales(out, [&](int i) { return d * (static_cast<float>(nibble(b.scales, i)) + 0.5f) * 0.25f; });
}

void whole_codes_iq1_s(const void* block, WholeCodes& out) {
    const auto& b = as<BlockIQ1_S>(block);
    const auto& points = iq1_points();
    const float d = f16_to_f32(b.d) * kIq1Shift;
    for (int group = 0; group < 8; ++group) {
        const int word = b.groups[group];
        for (int eight = 0; eight < 4; ++eight)
            put_iq1(points.of[b.low[4 * group + eight] | (word >> (3 * eight) & 7) << 8], word >> 15,
                    out.codes + 32 * group + 8 * eight);
        out.scales[2 * group] = out.scales[2 * group + 1] = d * static_cast<float>(2 * (word >> 12 & 7) + 1);
    }
}

void whole_codes_iq1_m(const void* block, WholeCodes& out) {
    const auto& b = as<BlockIQ1_M>(block);
    const auto& points = iq1_points();
    for (int eight = 0; eight < 32; ++eight) {
        const int p = nibble(b.high, eight);
        put_iq1(points.of[b.low[eight] | (p & 7) << 8], p & 8, out.codes + 8 * eight);
    }
    int bits = 0;
    for (int word = 0; word < 4; ++word) bits |= b.words[word][1] >> 4 << (4 * word);
    const float d = f16_to_f32(static_cast<uint16_t>(bits)) * kIq1Shift;
    set_scales(out, [&](int i) {
        return d * static_cast<float>(2 * (read_u16(b.words[i / 4]) >> (i % 4 * 3) & 7) + 1);
    });
}

void whole_codes_tq1_0(const void* block, WholeCodes& out) {
    const auto& b = as<BlockTQ1_0>(block);
    unsigned power = 1;
    for (int digit = 0; digit < 5; ++digit, power *= 3) {
        put_digits<uint64_t>(b.q, 32, power, out.codes + 32 * digit);
        put_digits<uint64_t>(b.q + 32, 16, power, out.codes + 160 + 16 * digit);
        if (digit < 4) put_digits<uint32_t>(b.last, 4, power, out.codes + 240 + 4 * digit);
    }
    const float d = f16_to_f32(b.d);
    set_scales(out, [&](int) { return d; });
}

}  // namespace plait::dtype
