#pragma once

#include <cstdint>
#include <vector>

#include "plait/choice/penalty.h"

namespace plait::sample {

// Added to a token's logit; -infinity masks it.
struct LogitBias {
    int32_t id = 0;
    float bias = 0;
};

// How the next token is chosen; names, meanings and defaults are those of llama.cpp's command line. Filters
// run in the order of the fields from top_k on; biases and then penalties come before them, the temperature
// after them.
struct Params {
    std::vector<LogitBias> biases;  // at most one of a token

    // Penalties on the logits of tokens seen among the last `repeat_last_n` ones, prompt included.
    double repeat_penalty = 1.0;     // > 0; divides positive logits, multiplies the others; 1 is off
    int32_t repeat_last_n = 64;      // 0 is off, -1 is the whole text
    double presence_penalty = 0.0;   // subtracted once from every token seen
    double frequency_penalty = 0.0;  // subtracted once per occurrence

    int32_t top_k = 40;        // keep the k best; <= 0 is off
    double top_p = 0.95;       // keep the best until their probabilities reach p, at least one; >= 1 is off
    double min_p = 0.05;       // keep what is at least min_p times as probable as the best; <= 0 is off
    double temperature = 0.8;  // <= 0 is greedy: the best logit, the lowest id among equals

    uint64_t seed = 0;  // a caller without one draws one and reports it

    choice::Penalty penalty() const { return {repeat_penalty, presence_penalty, frequency_penalty}; }
    bool greedy() const { return temperature <= 0; }
};

// The largest values accepted where an absurd one would cost memory or lose the logits in rounding.
inline constexpr double kMaxTemperature = 1e6;
inline constexpr double kMaxPenalty = 1e6;
inline constexpr float kMaxBias = 1e6;
inline constexpr double kMinRepeatPenalty = 1e-6;  // a divisor
inline constexpr int32_t kMaxRepeatLastN = 1 << 20;

// Throws Error naming the flag, the rule and the value found; ids of biases are the Sampler's to check.
// Thread-safe.
void validate(const Params& params);

}  // namespace plait::sample
