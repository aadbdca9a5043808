#include "plait/ir/ops/experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kTopKExperts = "top_k_experts";
constexpr const char* kAddExpertBias = "add_expert_bias";
constexpr const char* kWeightedSum = "weighted_sum";

// What the reference keeps on its stack; several times what any published model has.
constexpr int64_t kMaxExperts = 1024;

std::vector<TensorDesc> infer_top_k(const TopKExperts& op, std::span<const TensorDesc> inputs) {
    expect_input_count(kTopKExperts, inputs, 1, 1);
    const TensorDesc& logits = inputs[0];
    expect_shape(logits.type == DType::F32 && logits.shape.rank() == 2, kTopKExperts,
                 "logits as F32 [tokens, experts]", logits);
    const int64_t experts = logits.shape[1];
    expect_shape(experts <= kMaxExperts, kTopKExperts, fmt::format("at most {} experts", kMaxExperts),
                 logits);
    if (op.used < 1 || op.used > experts) {
        throw Error(
            fmt::format("{}: expected 1 to {} experts to be used, found {}", kTopKExperts, experts, op.used));
    }
    const Shape chosen{logits.shape[0], op.used};
    return {{DType::I32, chosen, logits.rows}, {DType::F32, chosen, logits.rows}};
}

std::vector<TensorDesc> infer_add_bias(const AddExpertBias& op, std::span<const TensorDesc> inputs) {
    ENSURE(op.first_expert >= 0, "experts that have a bias");
    expect_input_count(kAddExpertBias, inputs, 3, 3);
    const TensorDesc& x = inputs[0];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 3, kAddExpertBias, "x as F32 [tokens, used, n]",
                 x);
    const TensorDesc& bias = inputs[1];
    expect_shape(bias.type == DType::F32 && bias.shape.rank() == 2 && bias.shape[1] == x.shape[2],
                 kAddExpertBias, fmt::format("bias as F32 [experts, {}]", x.shape[2]), bias);
    const TensorDesc ids{DType::I32, {x.shape[0], x.shape[1]}, x.rows};
    expect_shape(inputs[2] == ids, kAddExpertBias, fmt::format("ids as {}", ids.text()), inputs[2]);
    return {x};
}

std::vector<TensorDesc> infer_weighted_sum(const WeightedSum&, std::span<const TensorDesc> inputs) {
    expect_input_count(kWeightedSum, inputs, 2, 2);
    const TensorDesc& x = inputs[0];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 3, kWeightedSum, "x as F32 [tokens, used, n]", x);
    const TensorDesc weights{DType::F32, {x.shape[0], x.shape[1]}, x.rows};
    expect_shape(inputs[1] == weights, kWeightedSum, fmt::format("weights as {}", weights.text()), inputs[1]);
    return {{DType::F32, {x.shape[0], x.shape[2]}, x.rows}};
}

void softmax(const float* logits, int64_t n, float* probabilities) {
    const float largest = *std::max_element(logits, logits + n);
    float sum = 0.0f;
    for (int64_t i = 0; i < n; ++i) sum += probabilities[i] = std::exp(logits[i] - largest);
    for (int64_t i = 0; i < n; ++i) probabilities[i] /= sum;
}

// The ids of the largest logits, in falling order, the first among equals. Logits decide, not probabilities:
// whose last bits may differ from device to device, and all members of one must choose alike.
void choose_largest(const float* logits, int64_t n, int64_t used, int32_t* ids) {
    bool taken[kMaxExperts] = {};
    for (int64_t s = 0; s < used; ++s) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; ++i) {
            if (!taken[i] && (best < 0 || logits[i] > logits[best])) best = i;
        }
        taken[best] = true;
        ids[s] = static_cast<int32_t>(best);
    }
}

void scale_weights(const TopKExperts& op, float* weights) {
    float sum = 0.0f;
    for (int64_t s = 0; s < op.used; ++s) sum += weights[s];
    const float divisor = op.renormalise ? sum : 1.0f;
    for (int64_t s = 0; s < op.used; ++s) weights[s] = weights[s] / divisor * op.scale;
}

void top_k_experts(const TopKExperts& op, const Call& call) {
    const Operand& logits = call.inputs[0];
    const int64_t experts = logits.desc.shape[1];
    float probabilities[kMaxExperts];
    for (int64_t t = 0; t < call.rows(logits); ++t) {
        float* weights = call.outputs[1].as<float>() + t * op.used;
        const float* row = logits.as<float>() + t * experts;
        int32_t* ids = call.outputs[0].as<int32_t>() + t * op.used;
        softmax(row, experts, probabilities);
        choose_largest(row, experts, op.used, ids);
        for (int64_t s = 0; s < op.used; ++s) weights[s] = probabilities[ids[s]];
        scale_weights(op, weights);
    }
}

void add_expert_bias(const AddExpertBias& op, const Call& call) {
    const Operand& x = call.inputs[0];
    const Operand& biases = call.inputs[1];
    const int64_t n = x.desc.shape[2];
    for (int64_t slot = 0; slot < call.inner_rows(x); ++slot) {
        const int32_t id = call.inputs[2].as<int32_t>()[slot];
        const int64_t expert = place_among(id, op.first_expert, biases.desc.shape[0]);
        const float* from = x.as<float>() + slot * n;
        float* y = std::copy_n(from, n, call.outputs[0].as<float>() + slot * n) - n;
        if (expert < 0) continue;
        for (int64_t i = 0; i < n; ++i) y[i] += biases.as<float>()[expert * n + i];
    }
}

void weighted_sum(const WeightedSum&, const Call& call) {
    const Operand& x = call.inputs[0];
    const int64_t used = x.desc.shape[1];
    const int64_t n = x.desc.shape[2];
    for (int64_t t = 0; t < call.rows(x); ++t) {
        const float* weights = call.inputs[1].as<float>() + t * used;
        float* y = call.outputs[0].as<float>() + t * n;
        std::fill_n(y, n, 0.0f);
        for (int64_t s = 0; s < used; ++s) {
            const float* row = x.as<float>() + (t * used + s) * n;
            for (int64_t i = 0; i < n; ++i) y[i] += weights[s] * row[i];
        }
    }
}

}  // namespace

const Descriptor<TopKExperts>& TopKExperts::descriptor() {
    static const Descriptor<TopKExperts> descriptor{.name = kTopKExperts,
                                                    .infer = infer_top_k,
                                                    .reference = top_k_experts,
                                                    .decides = true,
                                                    .shard = shard};
    return descriptor;
}

const Descriptor<AddExpertBias>& AddExpertBias::descriptor() {
    static const Descriptor<AddExpertBias> descriptor{
        .name = kAddExpertBias, .infer = infer_add_bias, .reference = add_expert_bias, .shard = shard};
    return descriptor;
}

const Descriptor<WeightedSum>& WeightedSum::descriptor() {
    static const Descriptor<WeightedSum> descriptor{.name = kWeightedSum,
                                                    .infer = infer_weighted_sum,
                                                    .reference = weighted_sum,
                                                    .linear_in = 1u << 0,
                                                    .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
