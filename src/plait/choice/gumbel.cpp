#include "plait/choice/gumbel.h"

#include <bit>

#include "plait/choice/philox.h"
#include "plait/choice/portable_math.h"

namespace plait::choice {
namespace {

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

}  // namespace

uint64_t noise_bits(const DrawKey& key, int32_t id) {
    const auto position = static_cast<uint64_t>(key.position);
    const auto words = philox4x32_10({static_cast<uint32_t>(id), key.sequence, low(position), high(position)},
                                     {low(key.seed), high(key.seed)});
    return (uint64_t{words[0]} << 20) | (words[1] >> 12);
}

double uniform(uint64_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-52; }

double gumbel(uint64_t bits) { return -portable_log(-portable_log(uniform(bits))); }

// -log(u) >= 1 - u, so g <= -log(1 - u); and 1 - u = (complement + 1/2) / 2^52 >= 2^(width - 53).
double gumbel_bound(uint64_t bits) {
    constexpr uint64_t kMask = (uint64_t{1} << 52) - 1;
    constexpr double kAboveLn2 = 0.6931472;  // by more than the rounding of gumbel()
    return (53 - std::bit_width(~bits & kMask)) * kAboveLn2;
}

}  // namespace plait::choice
