#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

// a + b. (a F32 [rows, n], b F32 like a, or F32 [n] added to every row) -> F32 like a.
struct Add {
    bool operator==(const Add&) const = default;
    static const Descriptor<Add>& descriptor();
};

// How many values become one.
enum class Reduction : uint8_t {
    sum,
    max,
    min,
};

// Of two values, element by element: (a F32 [rows, ..., n], b F32 like a) -> F32 like a. A NaN in either
// makes a NaN; -0 lies below +0. Gives the same bits with a and b exchanged (of a sum of two NaNs, a NaN).
struct Combine {
    Reduction reduction = Reduction::sum;
    bool operator==(const Combine&) const = default;
    static const Descriptor<Combine>& descriptor();
};

// x * factor: F32 -> F32 like x.
struct Scale {
    float factor = 1.0f;
    bool operator==(const Scale&) const = default;
    static const Descriptor<Scale>& descriptor();
};

// cap * tanh(x / cap), which bounds x softly (Gemma Team 2024): F32 -> F32 like x. cap > 0.
struct SoftCap {
    float cap = 1.0f;
    bool operator==(const SoftCap&) const = default;
    static const Descriptor<SoftCap>& descriptor();
};

// x, or the nearer end of [-limit, limit]: F32 -> F32 like x. limit > 0.
struct Clamp {
    float limit = 0.0f;
    bool operator==(const Clamp&) const = default;
    static const Descriptor<Clamp>& descriptor();
};

enum class Activation : uint8_t {
    silu,       // x / (1 + exp(-x))
    gelu_tanh,  // x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), Hendrycks and Gimpel 2016
    gelu_erf,   // x/2 * (1 + erf(x / sqrt(2))), what gelu_tanh approximates
    sigmoid,    // 1 / (1 + exp(-x))
};

// activation(x): F32 -> F32 like x.
struct Activate {
    Activation activation = Activation::gelu_tanh;
    bool operator==(const Activate&) const = default;
    static const Descriptor<Activate>& descriptor();
};

// activation(gate) * up (Shazeer 2020): (gate F32, up F32 like gate) -> F32 like gate.
struct GatedActivate {
    Activation activation = Activation::silu;
    bool operator==(const GatedActivate&) const = default;
    static const Descriptor<GatedActivate>& descriptor();
};

// g / (1 + exp(-alpha * g)) * (u + 1) with g = min(gate, limit) and u = up held within +-limit, the gating of
// gpt-oss (Agarwal et al. 2025): (gate F32, up F32 like gate) -> F32 like gate.
struct ClampedSwiglu {
    float limit = 7.0f;
    float alpha = 1.702f;
    bool operator==(const ClampedSwiglu&) const = default;
    static const Descriptor<ClampedSwiglu>& descriptor();
};

// The reference's way to make one element of two.
float combine(Reduction reduction, float a, float b);
const char* reduction_name(Reduction reduction);

inline constexpr Reduction kReductions[] = {Reduction::sum, Reduction::max, Reduction::min};

// The reference's activation function, in F32 with the C library's exp, tanh and erfc.
float activate(Activation activation, float x);
const char* activation_name(Activation activation);

inline constexpr Activation kActivations[] = {Activation::silu, Activation::gelu_tanh, Activation::gelu_erf,
                                              Activation::sigmoid};

}  // namespace plait::ir
