#include "plait/ir/ops/tap.h"
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kName = "tap";

std::vector<TensorDesc> infer(const Tap&, std::span<const TensorDesc> inputs) {
    expect_input_count(kName, inputs, 1, 1);
    expect_shape(inputs[0].type == DType::F32, kName, "x as F32", inputs[0]);
    return {inputs[0]};
}

}  // namespace

const Descriptor<Tap>& Tap::descriptor() {
    static const Descriptor<Tap> descriptor{.name = kName,
                                            .infer = infer,
                                            .reference = nullptr,
                                            .view = true,
                                            .host_action = true,
                                            .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
