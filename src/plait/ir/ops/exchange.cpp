#include "plait/ir/ops/exchange.h"

namespace plait::ir {
namespace {

constexpr const char* kName = "exchange";

void expect_value(const char* expected, const TensorDesc& value) {
    expect_shape(value.type == DType::F32 && value.shape.rank() >= 1, kName, expected, value);
}

std::vector<TensorDesc> infer(const Exchange& op, std::span<const TensorDesc> inputs) {
    for (const TensorDesc& input : inputs) expect_value("what is shown as F32", input);
    for (const TensorDesc& output : op.received) expect_value("what is received as F32", output);
    return op.received;
}

}  // namespace

const Descriptor<Exchange>& Exchange::descriptor() {
    static const Descriptor<Exchange> descriptor{
        .name = kName, .infer = infer, .reference = nullptr, .host_action = true};
    return descriptor;
}

}  // namespace plait::ir
