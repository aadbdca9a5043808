#pragma once

#include <cstdint>

#include "plait/backends/cpu/simd/kernel_table.h"
#include "plait/dtype/code_values.h"

// Weights whose rows are interleaved, as a tile of rows reads them: where blocks of 32 elements come from.
// The packed layout of each format (pack_x8.h), and panels, in which every code has been given a byte of its
// own and every scale is a float.
//
// A source has blocks of kParts times 32 elements, kBytes of one group of 8 rows, and gives, for part `part`
// of the block at `p` (with kGroups > 1, the next group's block lies `stride` bytes behind it),
//   Scales<O, coding> scales(p, stride, part)   what the codes are worth
//   B codes<Chunk>(p, stride, part)             elements 4 * Chunk .. + 3 of each row, a byte each
namespace plait::backends::cpu::simd {
namespace {

// What codes stand for: value = (code - offset) * scale, and + shift where there are shifts.
struct Coding {
    int most;  // codes are 0 .. most; kSigned: signed bytes
    int offset = 0;
    bool shifts = false;
    int halves = 1;  // scales (and shifts) of 32 elements: 1, or 2 of 16 elements each
};
constexpr int kSigned = 0;
constexpr int kBiased = 255;  // codes + kCodeBias, any byte: only where sums cannot saturate

// Whether integer sums begin with what an offset takes off (ActBlock::start).
template <class O>
constexpr bool begins_biased(Coding coding) {
    static_assert(O::kSignedBias == 0 || O::kSignedBias == kCodeBias);
    return coding.most == kBiased || (coding.most == kSigned && O::kSignedBias != 0);
}

template <class O, Coding kCoding>
struct Scales {
    typename O::F scale[kCoding.halves];
    typename O::F shift[kCoding.halves];
};

// Chunks, out of `chunks` with one scale, between two emptyings of the running sums.
template <class O>
constexpr int chunks_per_sum(int most, int chunks) {
    if (most == kSigned) return 1;  // no running sums
    int run = chunks;
    while (run > O::dots_per_sum(most)) run /= 2;
    return run;
}

// Calls f.operator()<0>() ... <7>(), inlined.
template <class F>
[[gnu::always_inline]] inline void for_chunks(const F& f) {
    f.template operator()<0>();
    f.template operator()<1>();
    f.template operator()<2>();
    f.template operator()<3>();
    f.template operator()<4>();
    f.template operator()<5>();
    f.template operator()<6>();
    f.template operator()<7>();
}

// Calls f.operator()<Sub>(first) for the parts of the source's block at element i that lie below k.
template <class Source, class F>
[[gnu::always_inline]] inline void for_parts(int64_t i, int64_t k, const F& f) {
    for (int first = 0; first < Source::kParts && i + 32 * first < k; first += Source::kTogether) {
        const auto part = [&]<int Sub>() {
            if constexpr (Sub < Source::kTogether) {
                if (i + 32 * (first + Sub) < k) f.template operator()<Sub>(first);
            }
        };
        part.template operator()<0>();
        part.template operator()<1>();
        part.template operator()<2>();
        part.template operator()<3>();
    }
}

// Bits From .. of every byte, as many as `Mask` has, moved to bit To.
template <class O, int From, int To, int Mask>
typename O::B bits_b(typename O::B v) {
    if constexpr (From < To)
        v = O::template shift_left_b<To - From>(v);
    else if constexpr (From > To)
        v = O::template shift_right_b<From - To>(v);
    return O::and_b(v, O::set_b(Mask << To));
}

// 32 codes in 16 bytes: low nibbles are elements 0 to 15, high ones 16 to 31.
template <class O, int Chunk>
typename O::B split_nibbles(const uint8_t* q, int64_t stride) {
    const typename O::B both = O::load_rows(q + 32 * (Chunk % 4), stride);
    return Chunk < 4 ? O::low_nibbles(both) : O::high_nibbles(both);
}

template <class O>
struct PackedQ8_0 {
    static constexpr int kParts = 1, kTogether = 1, kBytes = 272;
    static constexpr Coding kCoding{.most = kSigned};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int) {
        return {{O::load_halves(p, stride)}, {}};
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int) {
        return O::load_rows(p + 16 + 32 * Chunk, stride);
    }
};

template <class O>
struct PackedQ4_0 {
    static constexpr int kParts = 1, kTogether = 1, kBytes = 144;
    static constexpr Coding kCoding{.most = 15, .offset = 8};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int) {
        return {{O::load_halves(p, stride)}, {}};
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int) {
        return split_nibbles<O, Chunk>(p + 16, stride);
    }
};

template <class O>
struct PackedQ4_1 {
    static constexpr int kParts = 1, kTogether = 1, kBytes = 160;
    static constexpr Coding kCoding{.most = 15, .shifts = true};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int) {
        return {{O::load_halves(p, stride)}, {O::load_halves(p + 16, stride)}};
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int) {
        return split_nibbles<O, Chunk>(p + 32, stride);
    }
};

// Fifth bits, sorted, in front of the nibbles.
template <class O, int Chunk>
typename O::B five_bit_codes(const uint8_t* high, int64_t stride) {
    return O::or_b(split_nibbles<O, Chunk>(high + 32, stride),
                   bits_b<O, Chunk, 4, 1>(O::load_rows(high, stride)));
}

template <class O>
struct PackedQ5_0 {
    static constexpr int kParts = 1, kTogether = 1, kBytes = 176;
    static constexpr Coding kCoding{.most = 31, .offset = 16};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int) {
        return {{O::load_halves(p, stride)}, {}};
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int) {
        return five_bit_codes<O, Chunk>(p + 16, stride);
    }
};

template <class O>
struct PackedQ5_1 {
    static constexpr int kParts = 1, kTogether = 1, kBytes = 192;
    static constexpr Coding kCoding{.most = 31, .shifts = true};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int) {
        return {{O::load_halves(p, stride)}, {O::load_halves(p + 16, stride)}};
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int) {
        return five_bit_codes<O, Chunk>(p + 32, stride);
    }
};

template <class O>
struct PackedIQ4_NL {
    static constexpr int kParts = 1, kTogether = 1, kBytes = 144;
    static constexpr Coding kCoding{.most = kSigned};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int) {
        return {{O::load_halves(p, stride)}, {}};
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int) {
        return O::lookup_b(dtype::kIq4Values, split_nibbles<O, Chunk>(p + 16, stride));
    }
};

// dtype::half_of_e8m0 in every lane.
template <class O>
typename O::F halves_of_e8m0(typename O::I e) {
    const typename O::I one = O::set_i(1);
    const typename O::I normal = O::template shift_left<23>(O::sub_i(e, one));
    return O::from_bits(O::max_i(normal, O::template shift_left<21>(O::add_i(e, one))));
}

template <class O>
struct PackedMXFP4 {
    static constexpr int kParts = 1, kTogether = 1, kBytes = 136;
    static constexpr Coding kCoding{.most = kSigned};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int) {
        return {{halves_of_e8m0<O>(O::load_u8_rows(p, stride))}, {}};
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int) {
        return O::lookup_b(dtype::kE2m1Values, split_nibbles<O, Chunk>(p + 8, stride));
    }
};

// --- blocks of 256

// The bits of `v` from `shift` on, masked: a number of its own in every lane.
template <class O>
typename O::I field(typename O::I v, int shift, int mask) {
    return O::and_i(O::shift_right_by(v, shift), O::set_i(mask));
}

// The two-bit codes of Q2_K, Q3_K and Q6_K, as bits To and To + 1.
template <class O, int Chunk, int Sub, int To>
typename O::B two_bit_codes(const uint8_t* q, int64_t stride, int first) {
    return bits_b<O, Sub * 2, To, 3>(O::load_rows(q + first / 4 * 256 + 32 * Chunk, stride));
}

// The nibbles of Q4_K and Q5_K.
template <class O, int Chunk, int Sub>
typename O::B paired_nibble_codes(const uint8_t* q, int64_t stride, int first) {
    return bits_b<O, Sub * 4, 0, 15>(O::load_rows(q + first / 2 * 256 + 32 * Chunk, stride));
}

template <class O>
struct PackedQ2_K {
    static constexpr int kParts = 8, kTogether = 4, kBytes = 8 * 84;
    static constexpr Coding kCoding{.most = 3, .shifts = true, .halves = 2};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int part) {
        const typename O::F d = O::load_halves(p + 640, stride);
        const typename O::F m = O::sub(O::zero(), O::load_halves(p + 656, stride));
        Scales<O, kCoding> out;
        for (int half = 0; half < 2; ++half) {
            const typename O::I both = O::load_u8_rows(p + 8 * (2 * part + half), stride);
            out.scale[half] = O::mul(d, O::to_f(field<O>(both, 0, 15)));
            out.shift[half] = O::mul(m, O::to_f(field<O>(both, 4, 15)));
        }
        return out;
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int first) {
        return two_bit_codes<O, Chunk, Sub, 0>(p + 128, stride, first);
    }
};

template <class O>
struct PackedQ3_K {
    static constexpr int kParts = 8, kTogether = 4, kBytes = 8 * 110;
    static constexpr Coding kCoding{.most = 7, .offset = 4, .halves = 2};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int part) {
        const typename O::F d = O::load_halves(p + 864, stride);
        const auto byte = [&](int i) { return O::load_u8_rows(p + 768 + 8 * i, stride); };
        Scales<O, kCoding> out;
        for (int half = 0; half < 2; ++half) {  // as dtype::scale_at
            const int i = 2 * part + half;
            const typename O::I low = field<O>(byte(i % 8), i / 8 * 4, 15);
            const typename O::I high = field<O>(byte(8 + i % 4), i / 4 * 2, 3);
            const typename O::I scale = O::or_i(low, O::template shift_left<4>(high));
            out.scale[half] = O::mul(d, O::to_f(O::sub_i(scale, O::set_i(32))));
        }
        return out;
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int first) {
        return O::or_b(two_bit_codes<O, Chunk, Sub, 0>(p + 256, stride, first),
                       bits_b<O, Chunk, 2, 1>(O::load_rows(p + 32 * (first + Sub), stride)));
    }
};

// Of Q4_K and Q5_K, whose headers are the same; as dtype::scale_min_at.
template <class O, Coding kCoding>
[[gnu::always_inline]] inline Scales<O, kCoding> scales_and_mins(const uint8_t* p, int64_t stride, int part) {
    const typename O::F d = O::load_halves(p, stride);
    const typename O::F m = O::sub(O::zero(), O::load_halves(p + 16, stride));
    const auto byte = [&](int i) { return O::load_u8_rows(p + 32 + 8 * i, stride); };
    const int j = part % 4;
    typename O::I scale = byte(j), min = byte(j + 4);
    if (part < 4) {
        scale = field<O>(scale, 0, 63);
        min = field<O>(min, 0, 63);
    } else {
        const typename O::I low = byte(j + 8);
        scale = O::or_i(field<O>(low, 0, 15), field<O>(scale, 2, 48));
        min = O::or_i(field<O>(low, 4, 15), field<O>(min, 2, 48));
    }
    return {{O::mul(d, O::to_f(scale))}, {O::mul(m, O::to_f(min))}};
}

template <class O>
struct PackedQ4_K {
    static constexpr int kParts = 8, kTogether = 2, kBytes = 8 * 144;
    static constexpr Coding kCoding{.most = 15, .shifts = true};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int part) {
        return scales_and_mins<O, kCoding>(p, stride, part);
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int first) {
        return paired_nibble_codes<O, Chunk, Sub>(p + 128, stride, first);
    }
};

template <class O>
struct PackedQ5_K {
    static constexpr int kParts = 8, kTogether = 2, kBytes = 8 * 176;
    static constexpr Coding kCoding{.most = 31, .shifts = true};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int part) {
        return scales_and_mins<O, kCoding>(p, stride, part);
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int first) {
        return O::or_b(paired_nibble_codes<O, Chunk, Sub>(p + 384, stride, first),
                       bits_b<O, Chunk, 4, 1>(O::load_rows(p + 128 + 32 * (first + Sub), stride)));
    }
};

template <class O>
struct PackedQ6_K {
    static constexpr int kParts = 8, kTogether = 4, kBytes = 8 * 210;
    static constexpr Coding kCoding{.most = 63, .offset = 32, .halves = 2};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int part) {
        const typename O::F d = O::load_halves(p + 1664, stride);
        Scales<O, kCoding> out;
        for (int half = 0; half < 2; ++half)
            out.scale[half] = O::mul(d, O::to_f(O::load_i8_rows(p + 1536 + 8 * (2 * part + half), stride)));
        return out;
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int first) {
        const uint8_t* bytes = p + first / 4 * 512 + Sub % 2 * 256 + 32 * Chunk;
        return O::or_b(bits_b<O, Sub / 2 * 4, 0, 15>(O::load_rows(bytes, stride)),
                       two_bit_codes<O, Chunk, Sub, 4>(p + 1024, stride, first));
    }
};

template <class O>
struct PackedIQ4_XS {
    static constexpr int kParts = 8, kTogether = 1, kBytes = 8 * 136;
    static constexpr Coding kCoding{.most = kSigned};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int part) {
        const typename O::F d = O::load_halves(p, stride);
        const typename O::I high = field<O>(O::load_u8_rows(p + 16 + part / 4 * 8, stride), part % 4 * 2, 3);
        const typename O::I low = field<O>(O::load_u8_rows(p + 32 + part / 2 * 8, stride), part % 2 * 4, 15);
        const typename O::I scale = O::or_i(low, O::template shift_left<4>(high));
        return {{O::mul(d, O::to_f(O::sub_i(scale, O::set_i(32))))}, {}};
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int first) {
        return O::lookup_b(dtype::kIq4Values, split_nibbles<O, Chunk>(p + 64 + 128 * (first + Sub), stride));
    }
};

template <class O>
struct PackedTQ2_0 {
    static constexpr int kParts = 8, kTogether = 4, kBytes = 8 * 66;
    static constexpr Coding kCoding{.most = 3, .offset = 1};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int) {
        return {{O::load_halves(p + 512, stride)}, {}};
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int first) {
        return two_bit_codes<O, Chunk, Sub, 0>(p, stride, first);
    }
};

// Half of what the UE4M3 numbers in the lanes stand for (dtype/nvfp4.h), the byte 0x7F being 0: moved to the
// place of a float's exponent and mantissa they lack a factor of 2^120.
template <class O>
typename O::F halves_of_ue4m3(typename O::I d) {
    const typename O::I distance = O::sub_i(d, O::set_i(127));
    const typename O::I size = O::max_i(distance, O::sub_i(O::set_i(0), distance));
    const typename O::I kept =
        O::shift_right_by(O::sub_i(O::set_i(0), size), 31);  // all bits, or none for 0x7F
    const typename O::I number = O::template shift_left<20>(O::and_i(d, O::set_i(127)));
    return O::mul(O::from_bits(O::and_i(number, kept)), O::set(0x1p119f));
}

// kE2m1Values, 12 more each: without signs.
constexpr int8_t kE2m1Above[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

template <class O>
struct PackedNVFP4 {
    static constexpr int kParts = 2, kTogether = 1, kBytes = 8 * 36;
    static constexpr Coding kCoding{.most = 24, .offset = 12, .halves = 2};
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t stride, int part) {
        return {{halves_of_ue4m3<O>(O::load_u8_rows(p + 16 * part, stride)),
                 halves_of_ue4m3<O>(O::load_u8_rows(p + 16 * part + 8, stride))},
                {}};
    }
    // A half's 16 codes lie in 8 bytes.
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t stride, int first) {
        const uint8_t* half = p + 32 + 64 * (2 * (first + Sub) + Chunk / 4);
        const typename O::B both = O::load_rows(half + 32 * (Chunk % 2), stride);
        return O::lookup_b(kE2m1Above, Chunk % 4 < 2 ? O::low_nibbles(both) : O::high_nibbles(both));
    }
};

// --- panels

// Where sums of bytes cannot saturate, codes that are signed or have an offset get the one offset that costs
// nothing.
template <class O>
constexpr Coding panel_coding(Coding coding) {
    const bool has_offset = coding.most == kSigned || coding.offset != 0;
    if (!has_offset || O::kSignedBias == 0) return coding;
    return {.most = kBiased, .offset = kCodeBias, .shifts = coding.shifts, .halves = coding.halves};
}

// Whether the instruction set multiplies matrices (ops_x86-inl.h, join).
template <class O>
constexpr bool kHasPairs = requires(typename O::B v) {
    O::join(v, v, v, v);
};

// A block of 32 elements of all rows of a vector: chunks of codes, then scales, then shifts. With kJoined,
// two chunks are joined.
template <class O, Coding kCodes>
struct Panel {
    static constexpr Coding kCoding = kCodes;
    static constexpr bool kJoined = kHasPairs<O>;
    static constexpr int kRows = 8 * O::kGroups;
    static constexpr int kCodeBytes = 32 * kRows;
    static constexpr int kParts = 1, kTogether = 1;
    static constexpr int kBytes = kCodeBytes + 4 * kRows * kCoding.halves * (kCoding.shifts ? 2 : 1);

    static float* scale_at(uint8_t* p, int i) { return reinterpret_cast<float*>(p + kCodeBytes) + kRows * i; }
    static const float* scale_at(const uint8_t* p, int i) {
        return reinterpret_cast<const float*>(p + kCodeBytes) + kRows * i;
    }
    static Scales<O, kCoding> scales(const uint8_t* p, int64_t, int) {
        Scales<O, kCoding> out;
        for (int half = 0; half < kCoding.halves; ++half) {
            out.scale[half] = O::load_rows_f(scale_at(p, half));
            if constexpr (kCoding.shifts)
                out.shift[half] = O::load_rows_f(scale_at(p, kCoding.halves + half));
        }
        return out;
    }
    template <int Chunk, int Sub>
    static typename O::B codes(const uint8_t* p, int64_t, int) {
        return O::load_vector(p + Chunk * 4 * kRows);
    }
    static void store(uint8_t* p, const Scales<O, kCoding>& scales) {
        for (int half = 0; half < kCoding.halves; ++half) {
            O::store_rows(scale_at(p, half), scales.scale[half]);
            if constexpr (kCoding.shifts)
                O::store_rows(scale_at(p, kCoding.halves + half), scales.shift[half]);
        }
    }
};

// Where products take any two signed bytes, the offset is taken off the codes.
constexpr Coding signed_coding(Coding coding) {
    return {.most = kSigned, .shifts = coding.shifts, .halves = coding.halves};
}

template <class O>
void join_chunks(uint8_t* p) {
    constexpr int kBytes = 32 * O::kGroups;
    for (int i = 0; i < 8; i += 2, p += 2 * kBytes) {
        typename O::B first, second;
        O::join(O::load_vector(p), O::load_vector(p + kBytes), first, second);
        O::store_vector(p, first);
        O::store_vector(p + kBytes, second);
    }
}

// Fills the panel of a vector of rows from packed weights at `p`. From a block to the next are `step` bytes.
template <class O, template <class> class Format, Coding kPanel = panel_coding<O>(Format<O>::kCoding)>
void fill_panel(const uint8_t* p, int64_t k, uint8_t* panel, int64_t step) {
    using From = Format<O>;
    using To = Panel<O, kPanel>;
    for (int64_t i = 0; i < k; i += 32 * From::kParts, p += 2 * From::kBytes) {
        for_parts<From>(i, k, [&]<int Sub>(int first) {
            const int part = first + Sub;
            const auto scales = From::scales(p, From::kBytes, part);
            Scales<O, To::kCoding> stored;
            for (int half = 0; half < To::kCoding.halves; ++half) {
                stored.scale[half] = scales.scale[half];
                if constexpr (To::kCoding.shifts) stored.shift[half] = scales.shift[half];
            }
            To::store(panel, stored);
            for_chunks([&]<int Chunk>() {
                typename O::B codes = From::template codes<Chunk, Sub>(p, From::kBytes, first);
                if constexpr (To::kCoding.most == kBiased && From::kCoding.most == kSigned)
                    codes = O::biased(codes);
                else if constexpr (To::kCoding.offset != From::kCoding.offset)
                    codes = O::sub_b(codes, O::set_b(From::kCoding.offset - To::kCoding.offset));
                O::store_vector(panel + Chunk * 4 * To::kRows, codes);
            });
            if constexpr (To::kJoined) join_chunks<O>(panel);
            panel += step;
        });
    }
}

// The most that any coding needs for k elements of the rows of `Vectors` vectors.
template <class O>
constexpr int64_t panel_bytes(int64_t k, int vectors) {
    return k / 32 * vectors * Panel<O, Coding{.most = 3, .shifts = true, .halves = 2}>::kBytes;
}

}  // namespace
}  // namespace plait::backends::cpu::simd
