#pragma once

#include <cstdint>

namespace plait::choice {

// Names one draw. Everything a draw depends on besides its logits is here, which is why neither batch nor
// thread nor split can change it. `sequence` is the caller's stable number for the text (the index of the
// choice within its request), not a slot that depends on what else is running.
struct DrawKey {
    uint64_t seed = 0;
    uint32_t sequence = 0;
    int64_t position = 0;  // of the token being drawn
};

// The 52 random bits of a token: the first of Philox at counter {id, sequence, position}, keyed by the seed.
uint64_t noise_bits(const DrawKey& key, int32_t id);

// A uniform value strictly between 0 and 1: (bits + 1/2) / 2^52, exact.
double uniform(uint64_t bits);

// A standard Gumbel value, -log(-log(uniform)), always within ±37. Adding one to each log-probability and
// taking the argmax draws from the distribution (the "Gumbel-max trick"). The same on every machine: see
// portable_math.h.
double gumbel(uint64_t bits);

// At least gumbel(bits), less than 1 more where gumbel(bits) is above 1, and an order of magnitude cheaper:
// lets a search over a large vocabulary pass over the tokens that cannot win.
double gumbel_bound(uint64_t bits);

inline double gumbel(const DrawKey& key, int32_t id) { return gumbel(noise_bits(key, id)); }

}  // namespace plait::choice
