#include "plait/ir/ops/collective.h"

#include <fmt/format.h>

#include <numeric>

#include "plait/base/ensure.h"

namespace plait::ir {
namespace {

constexpr const char* kAllReduce = "all_reduce";
constexpr const char* kAllGather = "all_gather";
constexpr const char* kReduceScatter = "reduce_scatter";
constexpr const char* kBroadcast = "broadcast";
constexpr const char* kCheckEqual = "check_equal";

void expect_term(const char* op, const TensorDesc& x) {
    expect_shape(x.type == DType::F32 && x.shape.rank() >= 2, op, "x as F32 [rows, ..., n]", x);
}

std::vector<TensorDesc> infer_all_reduce(const AllReduce&, std::span<const TensorDesc> inputs) {
    expect_input_count(kAllReduce, inputs, 1, 1);
    expect_term(kAllReduce, inputs[0]);
    return {inputs[0]};
}

int64_t sum_of(const std::vector<int64_t>& extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t{0});
}

std::vector<TensorDesc> infer_all_gather(const AllGather& op, std::span<const TensorDesc> inputs) {
    expect_input_count(kAllGather, inputs, 0, 1);
    ENSURE(op.whole.shape.rank() == 2 && sum_of(op.extents) == op.whole.shape[1], "pieces make up the whole");
    if (!inputs.empty()) {
        const TensorDesc& x = inputs[0];
        expect_shape(x.type == DType::F32 && x.shape.rank() == 2 && x.rows == op.whole.rows &&
                         x.shape[0] == op.whole.shape[0],
                     kAllGather, fmt::format("x as a piece of {}", op.whole.text()), x);
    }
    if (op.root >= 0 && op.member != op.root) return {};
    return {op.whole};
}

std::vector<TensorDesc> infer_reduce_scatter(const ReduceScatter& op, std::span<const TensorDesc> inputs) {
    expect_input_count(kReduceScatter, inputs, 1, 1);
    const TensorDesc& x = inputs[0];
    expect_shape(x.type == DType::F32 && x.shape.rank() == 2 && x.shape[1] == sum_of(op.extents),
                 kReduceScatter, fmt::format("x as F32 [rows, {}]", sum_of(op.extents)), x);
    TensorDesc piece = x;
    piece.shape[1] = op.extents[static_cast<size_t>(op.member)];
    if (piece.shape[1] == 0) return {};
    return {piece};
}

std::vector<TensorDesc> infer_broadcast(const Broadcast& op, std::span<const TensorDesc> inputs) {
    expect_input_count(kBroadcast, inputs, 0, 1);
    if (!inputs.empty()) {
        expect_shape(inputs[0] == op.whole, kBroadcast, fmt::format("x as {}", op.whole.text()), inputs[0]);
    }
    return {op.whole};
}

std::vector<TensorDesc> infer_check_equal(const CheckEqual&, std::span<const TensorDesc> inputs) {
    expect_input_count(kCheckEqual, inputs, 1, 1);
    expect_term(kCheckEqual, inputs[0]);
    return {};
}

}  // namespace

const Descriptor<AllReduce>& AllReduce::descriptor() {
    static const Descriptor<AllReduce> descriptor{
        .name = kAllReduce, .infer = infer_all_reduce, .reference = nullptr, .collective = true};
    return descriptor;
}

const Descriptor<AllGather>& AllGather::descriptor() {
    static const Descriptor<AllGather> descriptor{
        .name = kAllGather, .infer = infer_all_gather, .reference = nullptr, .collective = true};
    return descriptor;
}

const Descriptor<ReduceScatter>& ReduceScatter::descriptor() {
    static const Descriptor<ReduceScatter> descriptor{
        .name = kReduceScatter, .infer = infer_reduce_scatter, .reference = nullptr, .collective = true};
    return descriptor;
}

const Descriptor<Broadcast>& Broadcast::descriptor() {
    static const Descriptor<Broadcast> descriptor{
        .name = kBroadcast, .infer = infer_broadcast, .reference = nullptr, .collective = true};
    return descriptor;
}

const Descriptor<CheckEqual>& CheckEqual::descriptor() {
    static const Descriptor<CheckEqual> descriptor{
        .name = kCheckEqual, .infer = infer_check_equal, .reference = nullptr, .collective = true};
    return descriptor;
}

}  // namespace plait::ir
