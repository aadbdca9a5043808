#pragma once

#include "plait/ir/op.h"

namespace plait::ir {

// a + b. (a F32 [rows, n], b F32 like a, or F32 [n] added to every row) -> F32 like a.
struct Add {
    bool operator==(const Add&) const = default;
    static const Descriptor<Add>& descriptor();
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

enum class Activation : uint8_t {
    silu,       // x / (1 + exp(-x))
    gelu_tanh,  // x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), Hendrycks and Gimpel 2016
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

// The reference's activation function, in F32 with the C library's exp and tanh.
float activate(Activation activation, float x);

}  // namespace plait::ir
