#include "plait/collectives/test_members.h"

#include <algorithm>
#include <cstring>

#include "plait/base/ensure.h"

namespace plait::collectives::test {
namespace {

constexpr std::byte kNan{0xff};  // four of them are a NaN

bool runs_together(const ir::Node& node) {
    return ir::op_is_collective(node.op) || std::holds_alternative<ir::Exchange>(node.op);
}

}  // namespace

TestTensor stored_part(const TestTensor& whole, const ir::Layout& layout, int member) {
    if (!layout.is(ir::LayoutKind::split)) return whole;
    const ir::StoredSlice slice = ir::stored_slice(whole.desc, layout, member);
    TestTensor part{ir::stored_desc(whole.desc, layout, member), {}};
    const bool last = layout.axis + 1 == whole.desc.shape.rank();
    const auto& type = dtype::info(whole.desc.type);
    int64_t outer = 1, inner = last ? 1 : whole.desc.row_bytes();
    for (int axis = 0; axis < layout.axis; ++axis) outer *= whole.desc.shape[axis];
    for (int axis = layout.axis + 1; axis + 1 < whole.desc.shape.rank(); ++axis)
        inner *= whole.desc.shape[axis];
    const auto bytes_of = [&](int64_t extent) {
        return last ? dtype::row_bytes(whole.desc.type, dtype::padded_elements(whole.desc.type, extent))
                    : extent * inner;
    };
    const auto row = bytes_of(whole.desc.shape[layout.axis]);
    for (int64_t i = 0; i < outer; ++i) {
        for (const ir::Range& piece : slice.pieces) {
            if (piece.empty()) continue;
            const int64_t begin =
                last ? piece.begin / type.block_elements * type.block_bytes : piece.begin * inner;
            const auto* first = whole.bytes.data() + i * row + begin;
            part.bytes.insert(part.bytes.end(), first, first + bytes_of(piece.size()));
        }
    }
    ENSURE(static_cast<int64_t>(part.bytes.size()) == part.desc.bytes(), part.desc.text());
    return part;
}

MembersRunner::MembersRunner(std::span<const ir::Graph> graphs, std::span<const Round> rounds, Source source)
    : source_(std::move(source)), rounds_(rounds) {
    for (const ir::Graph& graph : graphs) members_.push_back({.graph = &graph});
}

void MembersRunner::set_up(int index, const TestStep& step) {
    Member& member = members_[static_cast<size_t>(index)];
    const ir::Graph& graph = *member.graph;
    member.values.assign(graph.values().size(), {});
    member.data.assign(graph.values().size(), nullptr);
    member.next = 0;
    for (size_t id = 0; id < graph.values().size(); ++id) {
        const ir::Value& value = graph.values()[id];
        if (value.producer >= 0) continue;
        member.data[id] = value.kind == ir::ValueKind::step_input
                              ? ir::step_input_data(step.view(), static_cast<ir::StepInput>(value.index))
                              : source_(index, value);
    }
}

void MembersRunner::run(const TestStep& step) {
    for (size_t m = 0; m < members_.size(); ++m) set_up(static_cast<int>(m), step);
    for (;;) {
        std::vector<const ir::Node*> nodes;
        for (size_t m = 0; m < members_.size(); ++m) nodes.push_back(advance(static_cast<int>(m), step));
        for (const ir::Node* node : nodes)
            ENSURE((node == nullptr) == (nodes[0] == nullptr), "the members meet equally often");
        if (nodes[0] == nullptr) return;
        meet(nodes);
    }
}

const ir::Node* MembersRunner::advance(int index, const TestStep& step) {
    Member& member = members_[static_cast<size_t>(index)];
    while (member.next < member.graph->nodes().size()) {
        const ir::Node& node = member.graph->nodes()[member.next++];
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            const auto id = static_cast<size_t>(node.outputs[i]);
            const auto input = [&](size_t place) {
                return member.data[static_cast<size_t>(node.inputs[place])];
            };
            const size_t written = ir::first_written(ir::op_writes_state(node.op), node.inputs.size());
            if (ir::op_is_view(node.op)) {
                member.data[id] = input(0);
            } else if (written < node.inputs.size()) {
                member.data[id] = input(written + i);
            } else {
                TestTensor& value = member.values[id];
                value.desc = member.graph->value(node.outputs[i]).desc;
                value.bytes.assign(static_cast<size_t>(value.desc.bytes()), kNan);
                member.data[id] = value.bytes.data();
            }
        }
        if (runs_together(node)) return &node;
        if (!ir::op_is_view(node.op)) run_node(member, node, step);
    }
    return nullptr;
}

void MembersRunner::run_node(Member& member, const ir::Node& node, const TestStep& step) {
    const auto operands = [&](const std::vector<ir::ValueId>& ids) {
        std::vector<ir::Operand> result;
        for (const ir::ValueId id : ids)
            result.push_back({member.graph->value(id).desc, member.data[static_cast<size_t>(id)]});
        return result;
    };
    const std::vector<ir::Operand> inputs = operands(node.inputs), outputs = operands(node.outputs);
    ir::op_reference(node.op, {.inputs = inputs, .outputs = outputs, .step = &step.view()});
}

void MembersRunner::meet(std::span<const ir::Node* const> nodes) {
    if (std::holds_alternative<ir::Exchange>(nodes[0]->op)) return exchange(nodes);
    if (const auto* reduce = std::get_if<ir::AllReduce>(&nodes[0]->op))
        return all_reduce(nodes, reduce->reduction);
    if (const auto* gather = std::get_if<ir::AllGather>(&nodes[0]->op)) return all_gather(nodes, *gather);
    if (std::holds_alternative<ir::CheckEqual>(nodes[0]->op)) return;
    ENSURE(false, ir::op_name(nodes[0]->op));
}

void MembersRunner::exchange(std::span<const ir::Node* const> nodes) {
    const auto& round = rounds_[static_cast<size_t>(std::get<ir::Exchange>(nodes[0]->op).id)];
    for (const Move& move : round.moves) {
        const ir::ValueId from =
            nodes[static_cast<size_t>(move.from)]->inputs[static_cast<size_t>(move.input)];
        const ir::ValueId to = nodes[static_cast<size_t>(move.to)]->outputs[static_cast<size_t>(move.output)];
        Member& source = members_[static_cast<size_t>(move.from)];
        Member& target = members_[static_cast<size_t>(move.to)];
        const auto bytes = static_cast<size_t>(target.graph->value(to).desc.bytes());
        std::memcpy(target.data[static_cast<size_t>(to)], source.data[static_cast<size_t>(from)], bytes);
    }
}

void MembersRunner::all_reduce(std::span<const ir::Node* const> nodes, ir::Reduction reduction) {
    const auto values = [&](size_t m, ir::ValueId id) {
        return std::span(reinterpret_cast<float*>(members_[m].data[static_cast<size_t>(id)]),
                         static_cast<size_t>(members_[m].graph->value(id).desc.shape.elements()));
    };
    const auto first = values(0, nodes[0]->inputs[0]);
    std::vector<float> sum(first.begin(), first.end());
    for (size_t m = 1; m < nodes.size(); ++m) {
        const auto term = values(m, nodes[m]->inputs[0]);
        for (size_t i = 0; i < sum.size(); ++i) {
            switch (reduction) {
                case ir::Reduction::sum:
                    sum[i] += term[i];
                    break;
                case ir::Reduction::max:
                    sum[i] = std::max(sum[i], term[i]);
                    break;
                case ir::Reduction::min:
                    sum[i] = std::min(sum[i], term[i]);
                    break;
            }
        }
    }
    for (size_t m = 0; m < nodes.size(); ++m) std::ranges::copy(sum, values(m, nodes[m]->outputs[0]).begin());
}

void MembersRunner::all_gather(std::span<const ir::Node* const> nodes, const ir::AllGather& op) {
    const int64_t width = op.whole.shape[1];
    for (size_t to = 0; to < nodes.size(); ++to) {
        auto* whole = reinterpret_cast<float*>(members_[to].data[static_cast<size_t>(nodes[to]->outputs[0])]);
        int64_t begin = 0;
        for (size_t from = 0; from < nodes.size(); ++from) {
            const int64_t extent = op.extents[from];
            if (extent == 0) continue;
            const auto* piece = reinterpret_cast<const float*>(
                members_[from].data[static_cast<size_t>(nodes[from]->inputs[0])]);
            for (int64_t row = 0; row < op.whole.shape[0]; ++row)
                std::copy_n(piece + row * extent, extent, whole + row * width + begin);
            begin += extent;
        }
    }
}

const TestTensor& MembersRunner::output(int member, size_t index) const {
    return value(member, members_[static_cast<size_t>(member)].graph->outputs()[index]);
}

const TestTensor& MembersRunner::value(int member, ir::ValueId id) const {
    return members_[static_cast<size_t>(member)].values[static_cast<size_t>(id)];
}

}  // namespace plait::collectives::test
