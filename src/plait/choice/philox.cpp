#include "plait/choice/philox.h"

namespace plait::choice {
namespace {

constexpr int kRounds = 10;
constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kKeyStep0 = 0x9E3779B9;  // golden ratio
constexpr uint32_t kKeyStep1 = 0xBB67AE85;  // sqrt(3) - 1

uint32_t high(uint64_t product) { return static_cast<uint32_t>(product >> 32); }
uint32_t low(uint64_t product) { return static_cast<uint32_t>(product); }

}  // namespace

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
    for (int round = 0; round < kRounds; ++round) {
        const uint64_t product0 = kMultiplier0 * counter[0];
        const uint64_t product1 = kMultiplier1 * counter[2];
        counter = {high(product1) ^ counter[1] ^ key[0], low(product1),  //
                   high(product0) ^ counter[3] ^ key[1], low(product0)};
        key[0] += kKeyStep0;
        key[1] += kKeyStep1;
    }
    return counter;
}

}  // namespace plait::choice
