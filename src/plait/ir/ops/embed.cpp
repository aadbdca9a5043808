#include "plait/ir/ops/embed.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kName = "embed";

std::vector<TensorDesc> infer(const Embed& op, std::span<const TensorDesc> inputs) {
    ENSURE(op.first_row >= 0, "rows of a table");
    expect_input_count(kName, inputs, 2, 2);
    const TensorDesc& table = inputs[0];
    const TensorDesc& ids = inputs[1];
    expect_shape(table.type != DType::I32 && table.shape.rank() == 2, kName,
                 "table as [n, width] of a weight format", table);
    const int64_t width = table.shape[1];
    const int32_t block = dtype::info(table.type).block_elements;
    expect_shape(width % block == 0, kName, fmt::format("a table width that is a multiple of {}", block),
                 table);
    expect_shape(ids.type == DType::I32 && ids.shape.rank() == 1, kName, "ids as I32 [tokens]", ids);
    return {{DType::F32, {ids.shape[0], width}, ids.rows}};
}

void reference(const Embed& op, const Call& call) {
    const Operand& table = call.inputs[0];
    const Operand& ids = call.inputs[1];
    const Operand& y = call.outputs[0];
    const auto decode = dtype::info(table.desc.type).decode;
    const int64_t width = table.desc.shape[1];
    for (int64_t t = 0; t < call.rows(ids); ++t) {
        const int64_t row = place_among(ids.as<int32_t>()[t], op.first_row, table.desc.shape[0]);
        float* to = y.as<float>() + t * width;
        if (row < 0) {
            std::fill_n(to, width, 0.0f);
        } else {
            decode(table.row(row), to, width);
        }
    }
}

}  // namespace

const Descriptor<Embed>& Embed::descriptor() {
    static const Descriptor<Embed> descriptor{
        .name = kName, .infer = infer, .reference = reference, .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
