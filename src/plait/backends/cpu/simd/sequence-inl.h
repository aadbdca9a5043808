#pragma once

#include "plait/backends/cpu/simd/blur-inl.h"
#include "plait/backends/cpu/simd/packed-inl.h"

// The instructions with which products of several tokens multiply and add, on registers alone: no loads, no
// unpacking, no scales. What a processor does of them bounds what it can do of products.
namespace plait::backends::cpu::simd {
namespace {

// Makes the compiler compute a value that nobody reads.
template <class V>
void use(const V& v) {
    asm volatile("" : : "m"(v));
}

// As many sums as hide an instruction's latency and fit the registers: a vector may be a pair of them.
template <class O>
constexpr int kSequenceSums = requires(typename O::I v) {
    v.low, v.high;
}
? O::kPanelTokens : 2 * O::kPanelTokens;

// `multiply` of matmul_q8_x8-inl.h, without what it loads. Every weight meets kSums activations; sums that
// are done are added to totals, for a tile's conversion to floats.
template <class O, int kMost, int kHalves>
int64_t sequence_q8(int64_t rounds) {
    constexpr int kSums = kSequenceSums<O>;
    constexpr int kChunks = 8 / kHalves;
    constexpr int kRun = chunks_per_sum<O>(kMost, kChunks);
    const int8_t bytes[4] = {1, -1, 2, -2};
    typename O::B w = O::set_b(kMost == kSigned ? -3 : kMost), four = O::broadcast4(bytes);
    typename O::Sum running[kSums];
    typename O::I total[kSums];
    for (auto& sum : total) sum = O::set_i(0);
    for (int64_t round = 0; round < rounds; ++round) {
        for_chunks([&]<int Chunk>() __attribute__((always_inline)) {
            blur(w);
#pragma GCC unroll 16
            for (int t = 0; t < kSums; ++t) {
                blur(four);
                if constexpr (kMost == kSigned) {
                    total[t] = O::dot_s8(total[t], w, four);
                } else {
                    running[t] = O::dot_u7(Chunk % kRun == 0 ? O::zero_sum() : running[t], w, four);
                    if constexpr (Chunk % kRun == kRun - 1)
                        total[t % 2] = O::add_i(total[t % 2], O::finish(running[t]));
                }
            }
        });
    }
    for (const auto& sum : total) use(sum);
    return rounds * kSums * 32 * 8 * O::kGroups;
}

// That of a format's panels.
template <class O, template <class> class Format>
constexpr Coding kPanelCoding = panel_coding<typename O::Wide>(Format<typename O::Wide>::kCoding);
template <class O, template <class> class Format>
constexpr SequenceFn kSequenceOf =
    sequence_q8<typename O::Wide, kPanelCoding<O, Format>.most, kPanelCoding<O, Format>.halves>;

template <class O, class Codes>
constexpr SequenceFn kSequenceOfCodes =
    sequence_q8<typename O::Wide, panel_coding<typename O::Wide>(Codes::kCoding).most, Codes::kCoding.halves>;

// Floats, in the widest vectors there are.
template <class O>
int64_t sequence_f32(int64_t rounds) {
    using L = typename O::Lanes;
    constexpr int kSums = 2 * L::kLaneRows;
    constexpr int kSteps = 8;
    typename L::F w = L::set(1), x = L::set(0x1p-20f);
    typename L::F sum[kSums];
    for (auto& s : sum) s = L::zero();
    for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 8
        for (int step = 0; step < kSteps; ++step) {
            blur(w);
#pragma GCC unroll 32
            for (int t = 0; t < kSums; ++t) {
                blur(x);
                sum[t] = L::fma(w, x, sum[t]);
            }
        }
    }
    for (const auto& s : sum) use(s);
    return rounds * kSteps * kSums * L::kLanes;
}

}  // namespace
}  // namespace plait::backends::cpu::simd
