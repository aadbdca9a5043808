#include "plait/ir/ops/list.h"

#include <array>
#include <utility>

#include "plait/base/ensure.h"

namespace plait::ir {
namespace {

// Calls `use` with the descriptor of the op's type and the op itself.
template <class Use>
auto with_descriptor(const Op& op, Use use) {
    return std::visit([&](const auto& concrete) { return use(concrete.descriptor(), concrete); }, op);
}

template <size_t... I>
std::array<const char*, kOpCount> all_names(std::index_sequence<I...>) {
    return {std::variant_alternative_t<I, Op>::descriptor().name...};
}

}  // namespace

const char* op_name(const Op& op) { return op_name(op_id(op)); }

const char* op_name(OpId id) {
    static const auto names = all_names(std::make_index_sequence<kOpCount>());
    return names[id];
}

std::vector<TensorDesc> op_infer(const Op& op, std::span<const TensorDesc> inputs) {
    return with_descriptor(
        op, [&](const auto& descriptor, const auto& concrete) { return descriptor.infer(concrete, inputs); });
}

void op_reference(const Op& op, const Call& call) {
    with_descriptor(op, [&](const auto& descriptor, const auto& concrete) {
        ENSURE(descriptor.reference != nullptr, descriptor.name);
        descriptor.reference(concrete, call);
    });
}

uint32_t op_linear_in(const Op& op) {
    return with_descriptor(op, [](const auto& descriptor, const auto&) { return descriptor.linear_in; });
}

StateWrites op_writes_state(const Op& op) {
    return with_descriptor(op, [](const auto& descriptor, const auto&) { return descriptor.writes_state; });
}

bool op_is_host_action(const Op& op) {
    return with_descriptor(op, [](const auto& descriptor, const auto&) { return descriptor.host_action; });
}

bool op_decides(const Op& op) {
    return with_descriptor(op, [](const auto& descriptor, const auto&) { return descriptor.decides; });
}

bool op_is_collective(const Op& op) {
    return with_descriptor(op, [](const auto& descriptor, const auto&) { return descriptor.collective; });
}

bool op_is_view(const Op& op) {
    return with_descriptor(op, [](const auto& descriptor, const auto&) { return descriptor.view; });
}

}  // namespace plait::ir
