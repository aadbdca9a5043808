#include "plait/ir/ops/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plait/base/error.h"
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kRopeAngles = "rope_angles";
constexpr const char* kRope = "rope";

void expect_parameter(bool condition, const char* expected, double found) {
    if (!condition) throw Error(fmt::format("{}: expected {}, found {}", kRopeAngles, expected, found));
}

void expect_parameters(const RopeAngles& op) {
    expect_parameter(op.dims > 0 && op.dims % 2 == 0, "a positive, even number of dimensions",
                     static_cast<double>(op.dims));
    expect_parameter(op.base > 1.0f, "a base above 1", op.base);
    if (op.scaling == RopeScaling::none) return;
    expect_parameter(op.factor > 0.0f, "a positive scaling factor", op.factor);
    if (op.scaling == RopeScaling::linear) return;
    expect_parameter(op.original_context > 0, "a positive original context for yarn",
                     static_cast<double>(op.original_context));
    expect_parameter(op.beta_slow > 0.0f, "a positive beta_slow for yarn", op.beta_slow);
    expect_parameter(op.beta_fast >= op.beta_slow, "a beta_fast for yarn that is not below beta_slow",
                     op.beta_fast);
}

std::vector<TensorDesc> infer_angles(const RopeAngles& op, std::span<const TensorDesc> inputs) {
    expect_parameters(op);
    expect_input_count(kRopeAngles, inputs, 1, 2);
    const TensorDesc& positions = inputs[0];
    expect_shape(positions.type == DType::I32 && positions.shape.rank() == 1, kRopeAngles,
                 "positions as I32 [tokens]", positions);
    if (inputs.size() == 2) {
        expect_shape(inputs[1].type == DType::F32 && inputs[1].shape == Shape{op.dims / 2}, kRopeAngles,
                     fmt::format("frequency divisors as F32 [{}]", op.dims / 2), inputs[1]);
    }
    return {{DType::F32, {positions.shape[0], op.dims / 2, 2}, positions.rows}};
}

std::vector<TensorDesc> infer_rope(const Rope&, std::span<const TensorDesc> inputs) {
    expect_input_count(kRope, inputs, 2, 2);
    const TensorDesc& x = inputs[0];
    const TensorDesc& angles = inputs[1];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 3, kRope, "x as F32 [tokens, heads, width]", x);
    expect_shape(angles.type == DType::F32 && angles.shape.rank() == 3 && angles.shape[2] == 2, kRope,
                 "angles as F32 [tokens, dims / 2, 2]", angles);
    expect_shape(angles.shape[0] == x.shape[0] && angles.rows == x.rows, kRope,
                 fmt::format("angles of {} tokens as x has", x.shape[0]), angles);
    expect_shape(2 * angles.shape[1] <= x.shape[2], kRope,
                 fmt::format("angles for at most the {} features of a head", x.shape[2]), angles);
    return {x};
}

// The pair that turns `rotations` times within the context the model was trained on (Peng et al. 2023,
// section 3.2), as a fraction of pairs.
double pair_of_rotations(const RopeAngles& op, double rotations) {
    const double wavelength = static_cast<double>(op.original_context) / rotations;
    return static_cast<double>(op.dims) * std::log(wavelength / (2 * std::numbers::pi)) /
           (2 * std::log(static_cast<double>(op.base)));
}

// How much of a pair's own frequency yarn keeps: all of it for pairs that turn fast, nothing for pairs that
// turn slowly, a straight ramp between. The ramp's ends are cut to [0, dims - 1]; most models have them at
// whole pairs.
class YarnRamp {
  public:
    explicit YarnRamp(const RopeAngles& op)
        : low_(pair_of_rotations(op, op.beta_fast)),
          high_(pair_of_rotations(op, op.beta_slow)),
          extrapolation_(op.extrapolation) {
        if (op.whole_pairs) {
            low_ = std::floor(low_);
            high_ = std::ceil(high_);
        }
        low_ = std::max(0.0, low_);
        high_ = std::min(static_cast<double>(op.dims - 1), high_);
    }

    double kept(int64_t pair) const {
        const double slope = (static_cast<double>(pair) - low_) / std::max(0.001, high_ - low_);
        return (1.0 - std::clamp(slope, 0.0, 1.0)) * extrapolation_;
    }

  private:
    double low_;
    double high_;
    double extrapolation_;
};

// Radians per position of a pair, before scaling.
double frequency(const RopeAngles& op, int64_t pair, const float* divisors) {
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(op.dims);
    const double own = std::pow(static_cast<double>(op.base), exponent);
    return divisors == nullptr ? own : own / divisors[pair];
}

double scaled_frequency(const RopeAngles& op, int64_t pair, double own) {
    switch (op.scaling) {
        case RopeScaling::none:
            return own;
        case RopeScaling::linear:
            return own / op.factor;
        case RopeScaling::yarn: {
            const double kept = YarnRamp(op).kept(pair);
            return own / op.factor * (1.0 - kept) + own * kept;
        }
    }
    return own;
}

// Yarn's own magnitude is 1 + 0.1 ln(factor) (Peng et al. 2023, equation 22), part of its correction and
// absent without it.
double magnitude(const RopeAngles& op) {
    const bool corrected = op.scaling == RopeScaling::yarn && op.extrapolation != 0.0f;
    return op.attention_factor * (corrected ? 1.0 + 0.1 * std::log(static_cast<double>(op.factor)) : 1.0);
}

void rope_angles(const RopeAngles& op, const Call& call) {
    const Operand& positions = call.inputs[0];
    const float* divisors = call.inputs.size() == 2 ? call.inputs[1].as<float>() : nullptr;
    const int64_t pairs = op.dims / 2;
    const double length = magnitude(op);
    for (int64_t pair = 0; pair < pairs; ++pair) {
        const double turn = scaled_frequency(op, pair, frequency(op, pair, divisors));
        for (int64_t t = 0; t < call.rows(positions); ++t) {
            const double angle = positions.as<int32_t>()[t] * turn;
            float* out = call.outputs[0].as<float>() + (t * pairs + pair) * 2;
            out[0] = static_cast<float>(std::cos(angle) * length);
            out[1] = static_cast<float>(std::sin(angle) * length);
        }
    }
}

struct PairPlace {
    int64_t first;
    int64_t second;
};

PairPlace pair_place(RopePairs order, int64_t pair, int64_t pairs) {
    return order == RopePairs::adjacent ? PairPlace{2 * pair, 2 * pair + 1} : PairPlace{pair, pair + pairs};
}

void rotate_head(RopePairs order, const float* x, const float* angles, int64_t pairs, float* y) {
    for (int64_t pair = 0; pair < pairs; ++pair) {
        const auto [first, second] = pair_place(order, pair, pairs);
        const float c = angles[2 * pair];
        const float s = angles[2 * pair + 1];
        const float a = x[first];
        const float b = x[second];
        y[first] = a * c - b * s;
        y[second] = a * s + b * c;
    }
}

void rope(const Rope& op, const Call& call) {
    const Operand& x = call.inputs[0];
    const Operand& angles = call.inputs[1];
    const int64_t heads = x.desc.shape[1];
    const int64_t width = x.desc.shape[2];
    const int64_t pairs = angles.desc.shape[1];
    for (int64_t t = 0; t < call.rows(x); ++t) {
        for (int64_t h = 0; h < heads; ++h) {
            const float* from = x.as<float>() + (t * heads + h) * width;
            float* to = call.outputs[0].as<float>() + (t * heads + h) * width;
            rotate_head(op.pairs, from, angles.as<float>() + t * pairs * 2, pairs, to);
            std::copy(from + 2 * pairs, from + width, to + 2 * pairs);
        }
    }
}

}  // namespace

const Descriptor<RopeAngles>& RopeAngles::descriptor() {
    static const Descriptor<RopeAngles> descriptor{
        .name = kRopeAngles, .infer = infer_angles, .reference = rope_angles, .shard = shard};
    return descriptor;
}

const Descriptor<Rope>& Rope::descriptor() {
    static const Descriptor<Rope> descriptor{
        .name = kRope, .infer = infer_rope, .reference = rope, .linear_in = 1u << 0, .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
