#pragma once

#include <cstdint>

namespace plait::choice {

// What happens to the logits of tokens that a text has lately had.
struct Penalty {
    double repeat = 1;     // > 0; divides positive logits, multiplies the others
    double presence = 0;   // subtracted once
    double frequency = 0;  // subtracted once per occurrence

    bool changes_anything() const { return repeat != 1 || presence != 0 || frequency != 0; }
};

// A token whose logit is not taken as it comes. A plain value of 32-bit parts: lists of them travel in the
// data of a step.
struct Change {
    int32_t id = 0;
    int32_t count = 0;  // occurrences to penalise
    float bias = 0;     // added first; -infinity masks the token
    bool operator==(const Change&) const = default;
};

// A logit after its bias and then the penalties for a token seen `count` times: divided by `repeat` when
// positive, multiplied by it otherwise (Keskar et al., "CTRL", 2019, as llama.cpp extends it to negative
// logits), then lowered by count · frequency + presence. A token not seen (count 0) is not penalised.
float changed(float logit, const Change& change, const Penalty& penalty);

}  // namespace plait::choice
