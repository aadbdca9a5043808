#include "plait/plan/test_shard_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "plait/base/error.h"
#include "plait/collectives/lower.h"

namespace plait::plan::test {
namespace {

using collectives::Round;
using collectives::Way;
using collectives::test::MembersRunner;
using collectives::test::stored_part;
using ir::Layout;
using ir::LayoutKind;
using ir::Range;
using ir::Role;
using ir::TensorDesc;
using ir::ValueId;
using ir::test::TestStep;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// --- running

// What each member stores of a model, and its graphs run on that.
class Members {
  public:
    Members(const RandomModel& model, const Layouts& layouts, int members) {
        for (int m = 0; m < members; ++m) {
            weights_.push_back(parts(model.weight_data, layouts.weights, m));
            state_.push_back(parts(model.state_data, layouts.state, m));
        }
    }
    // All of it on one.
    explicit Members(const RandomModel& model) : weights_{model.weight_data}, state_{model.state_data} {}

    MembersRunner run(std::span<const ir::Graph> graphs, std::span<const Round> rounds,
                      const TestStep& step) {
        MembersRunner runner(graphs, rounds, [&](int m, const ir::Value& value) {
            auto& tensors = (value.kind == ir::ValueKind::weight ? weights_ : state_)[static_cast<size_t>(m)];
            return tensors[static_cast<size_t>(value.index)].bytes.data();
        });
        runner.run(step);
        return runner;
    }

    const std::vector<TestTensor>& state(int m) const { return state_[static_cast<size_t>(m)]; }

  private:
    static std::vector<TestTensor> parts(std::span<const TestTensor> tensors, std::span<const Layout> layouts,
                                         int m) {
        std::vector<TestTensor> result;
        for (size_t i = 0; i < tensors.size(); ++i) result.push_back(stored_part(tensors[i], layouts[i], m));
        return result;
    }

    std::vector<std::vector<TestTensor>> weights_;  // by member and index
    std::vector<std::vector<TestTensor>> state_;
};

// A view has no bytes of its own.
ValueId stored_value(const ir::Graph& graph, ValueId id) {
    while (graph.value(id).producer >= 0) {
        const ir::Node& node = graph.nodes()[static_cast<size_t>(graph.value(id).producer)];
        if (!ir::op_is_view(node.op)) break;
        id = node.inputs[0];
    }
    return id;
}

// By the taps' numbers.
std::vector<ValueId> taps_of(const ir::Graph& graph) {
    std::vector<ValueId> taps;
    for (const ir::Node& node : graph.nodes()) {
        if (std::holds_alternative<ir::Tap>(node.op)) taps.push_back(node.inputs[0]);
    }
    return taps;
}

// The rows that the step has.
std::span<const float> used_values(const TestTensor& tensor, const TestStep& step) {
    const int64_t rows = ir::test::actual_rows(tensor, step);
    const int64_t row = tensor.desc.shape.elements() / tensor.desc.shape[0];
    return {reinterpret_cast<const float*>(tensor.bytes.data()), static_cast<size_t>(rows * row)};
}

bool same_bits(const TestTensor& a, const TestTensor& b, const TestStep& step) {
    const auto left = std::as_bytes(used_values(a, step)), right = std::as_bytes(used_values(b, step));
    return std::ranges::equal(left, right);
}

// --- choices that rounding may turn over

bool close_choice(const ir::TopKExperts& op, std::span<const float> logits, int64_t experts) {
    for (size_t row = 0; row < logits.size(); row += static_cast<size_t>(experts)) {
        std::vector<float> sorted(logits.begin() + static_cast<int64_t>(row),
                                  logits.begin() + static_cast<int64_t>(row) + experts);
        std::ranges::sort(sorted, std::greater<>());
        if (op.used < experts &&
            sorted[static_cast<size_t>(op.used) - 1] - sorted[static_cast<size_t>(op.used)] < 1e-4f)
            return true;
    }
    return false;
}

bool any_close_choice(const ir::Graph& graph, const MembersRunner& runner, const TestStep& step) {
    return std::ranges::any_of(graph.nodes(), [&](const ir::Node& node) {
        const auto* op = std::get_if<ir::TopKExperts>(&node.op);
        if (op == nullptr) return false;
        const TestTensor& logits = runner.value(0, stored_value(graph, node.inputs[0]));
        return close_choice(*op, used_values(logits, step), logits.desc.shape[1]);
    });
}

// --- the members' graphs

std::vector<const ir::Node*> collective_nodes(const ir::Graph& graph) {
    std::vector<const ir::Node*> nodes;
    for (const ir::Node& node : graph.nodes()) {
        if (ir::op_is_collective(node.op)) nodes.push_back(&node);
    }
    return nodes;
}

std::string reduce_fault(std::span<const ir::Graph> graphs, std::span<const ir::Node* const> nodes,
                         const TensorDesc& desc) {
    for (size_t m = 0; m < graphs.size(); ++m) {
        const TensorDesc& term = graphs[m].value(nodes[m]->inputs[0]).desc;
        if (term != desc)
            return fmt::format("{}: member {} has a term {} of a sum {}", nodes[m]->name, m, term.text(),
                               desc.text());
    }
    return {};
}

std::string gather_fault(std::span<const ir::Graph> graphs, std::span<const ir::Node* const> nodes,
                         const ir::AllGather& op) {
    for (size_t m = 0; m < graphs.size(); ++m) {
        const std::vector<ValueId>& inputs = nodes[m]->inputs;
        const int64_t extent = inputs.empty() ? 0 : graphs[m].value(inputs[0]).desc.shape.last();
        if (extent != op.extents[m])
            return fmt::format("{}: member {} has {} of {} features", nodes[m]->name, m, extent,
                               op.extents[m]);
    }
    if (std::accumulate(op.extents.begin(), op.extents.end(), int64_t{0}) != op.whole.shape.last())
        return fmt::format("{}: the pieces are not {}", nodes[0]->name, op.whole.text());
    return {};
}

// Every member has each collective, in order, and has a piece or term for it as the others have.
std::string collectives_fault(const MemberGraphs& members) {
    std::vector<std::vector<const ir::Node*>> nodes;
    for (const ir::Graph& graph : members.graphs) nodes.push_back(collective_nodes(graph));
    for (size_t m = 0; m < nodes.size(); ++m) {
        if (nodes[m].size() != members.collectives.size())
            return fmt::format("member {} has {} of {} collectives", m, nodes[m].size(),
                               members.collectives.size());
    }
    for (size_t i = 0; i < members.collectives.size(); ++i) {
        const CollectiveUse& use = members.collectives[i];
        std::vector<const ir::Node*> meeting;
        for (const auto& own : nodes) meeting.push_back(own[i]);
        for (const ir::Node* node : meeting) {
            if (node->op != use.op)
                return fmt::format("{} is another collective than {}", node->name, use.after);
        }
        const auto* gather = std::get_if<ir::AllGather>(&use.op);
        const std::string fault = gather == nullptr ? reduce_fault(members.graphs, meeting, use.desc)
                                                    : gather_fault(members.graphs, meeting, *gather);
        if (!fault.empty()) return fault;
    }
    return {};
}

// Zeros cost less to make again than to keep.
std::string repetition_fault(const ir::Graph& graph) {
    const auto nodes = graph.nodes();
    for (size_t a = 0; a < nodes.size(); ++a) {
        if (nodes[a].inputs.empty() || ir::op_writes_state(nodes[a].op) != ir::StateWrites::none) continue;
        for (size_t b = a + 1; b < nodes.size(); ++b) {
            if (nodes[a].inputs == nodes[b].inputs && nodes[a].op == nodes[b].op)
                return fmt::format("{} is {} again", nodes[b].name, nodes[a].name);
        }
    }
    return {};
}

// What a member should have of the graph's outputs.
std::vector<TensorDesc> outputs_of(const RandomModel& model, const MemberGraphs& members, size_t m) {
    std::vector<TensorDesc> outputs;
    for (size_t i = 0; i < members.outputs.size(); ++i) {
        const TensorDesc& whole = model.graph.value(model.graph.outputs()[i]).desc;
        const TensorDesc part = ir::member_desc(whole, members.outputs[i], static_cast<int>(m));
        if (part.shape.elements() > 0) outputs.push_back(part);
    }
    return outputs;
}

std::string outputs_fault(const RandomModel& model, const MemberGraphs& members) {
    for (const Layout& layout : members.outputs) {
        if (!layout.is(LayoutKind::mirrored) && !layout.is(LayoutKind::split))
            return "an output is " + layout.text();
    }
    for (size_t m = 0; m < members.graphs.size(); ++m) {
        const ir::Graph& graph = members.graphs[m];
        const std::vector<TensorDesc> wanted = outputs_of(model, members, m);
        if (graph.outputs().size() != wanted.size())
            return fmt::format("member {} has {} outputs", m, graph.outputs().size());
        for (size_t i = 0; i < wanted.size(); ++i) {
            const TensorDesc& found = graph.value(graph.outputs()[i]).desc;
            if (found != wanted[i])
                return fmt::format("member {} has {} of an output, not {}", m, found.text(),
                                   wanted[i].text());
        }
    }
    return {};
}

std::string taps_fault(const RandomModel& model, const MemberGraphs& members) {
    const size_t count = taps_of(model.graph).size();
    for (const ir::Graph& graph : members.graphs) {
        const std::vector<ValueId> taps = taps_of(graph);
        if (taps.size() != count) return fmt::format("a member has {} of {} taps", taps.size(), count);
        for (size_t i = 0; i < count; ++i) {
            const TensorDesc& whole = model.graph.value(taps_of(model.graph)[i]).desc;
            if (graph.value(taps[i]).desc != whole) return "a tap shows a piece";
        }
    }
    return {};
}

std::string graphs_fault(const RandomModel& model, const MemberGraphs& members) {
    for (const std::string& fault :
         {collectives_fault(members), outputs_fault(model, members), taps_fault(model, members)}) {
        if (!fault.empty()) return fault;
    }
    for (size_t m = 0; m < members.graphs.size(); ++m) {
        if (const std::string fault = repetition_fault(members.graphs[m]); !fault.empty())
            return fmt::format("member {}: {}", m, fault);
    }
    return {};
}

// --- results

std::string error_fault(std::string_view what, std::span<const float> expected, std::span<const float> actual,
                        double tolerance) {
    const double error = ir::test::normalised_error(expected, actual);
    return error <= tolerance ? "" : fmt::format("{}: error {}", what, error);
}

std::vector<float> joined(const TensorDesc& whole, const Layout& layout, std::span<const ir::Graph> graphs,
                          const MembersRunner& runner, const TestStep& step, int64_t rows) {
    std::vector<float> values(static_cast<size_t>(rows * whole.shape.last()), kNan);
    for (size_t m = 0; m < graphs.size(); ++m) {
        if (member_desc(whole, layout, static_cast<int>(m)).shape.elements() == 0) continue;
        const ValueId id = stored_value(graphs[m], graphs[m].outputs()[0]);
        const std::span<const float> own = used_values(runner.value(static_cast<int>(m), id), step);
        const std::vector<Range> pieces = layout.is(LayoutKind::split)
                                              ? layout.pieces(static_cast<int>(m))
                                              : std::vector<Range>{{0, whole.shape.last()}};
        auto from = own.begin();
        for (int64_t row = 0; row < rows; ++row) {
            for (const Range& piece : pieces) {
                std::copy_n(from, piece.size(), values.begin() + row * whole.shape.last() + piece.begin);
                from += piece.size();
            }
        }
    }
    return values;
}

std::string output_fault(const RandomModel& model, const Alone& alone, const MemberGraphs& members,
                         std::span<const ir::Graph> graphs, const MembersRunner& runner,
                         const TestStep& step) {
    const TensorDesc& whole = model.graph.value(model.graph.outputs()[0]).desc;
    const std::vector<float> values =
        joined(whole, members.outputs[0], graphs, runner, step, ir::test::actual_rows(alone.output, step));
    return error_fault("output", used_values(alone.output, step), values, alone.tolerance);
}

// Every logit is a candidate of one member, whose logits lie in front of its candidates.
std::string candidates_fault(const Alone& alone, const MemberGraphs& members,
                             std::span<const ir::Graph> graphs, const MembersRunner& runner,
                             const TestStep& step) {
    const int64_t rows = ir::test::actual_rows(alone.output, step);
    const int64_t vocabulary = alone.output.desc.shape[1];
    const ir::SampleCandidates op{.count = vocabulary};
    std::vector<float> expected = ir::test::values_of(alone.output);
    expected.resize(static_cast<size_t>(rows * vocabulary));
    for (int64_t row = 0; row < rows; ++row)
        expected[static_cast<size_t>(row * vocabulary + kBias.id)] += kBias.bias;
    std::vector<float> found(expected.size(), kNan);
    for (size_t m = 0; m < graphs.size(); ++m) {
        if (members.graphs[m].outputs().empty()) continue;
        if (m > 0 && members.outputs[1].is(LayoutKind::mirrored)) break;
        const TestTensor& answers =
            runner.value(static_cast<int>(m), stored_value(graphs[m], graphs[m].outputs()[1]));
        for (int64_t row = 0; row < rows; ++row) {
            for (const choice::Candidate& candidate : op.answer(answers.operand(), row).candidates()) {
                if (candidate.id < 0 || candidate.id >= vocabulary)
                    return fmt::format("member {} has a candidate {}", m, candidate.id);
                float& logit = found[static_cast<size_t>(row * vocabulary + candidate.id)];
                if (!std::isnan(logit)) return fmt::format("{} is a candidate twice", candidate.id);
                logit = candidate.logit;
            }
        }
    }
    return error_fault("candidates", expected, found, alone.tolerance);
}

std::string tap_values_fault(const Alone& alone, std::span<const ir::Graph> graphs,
                             const MembersRunner& runner, const TestStep& step) {
    for (size_t m = 0; m < graphs.size(); ++m) {
        const std::vector<ValueId> taps = taps_of(graphs[m]);
        for (size_t i = 0; i < taps.size(); ++i) {
            const TestTensor& shown = runner.value(static_cast<int>(m), stored_value(graphs[m], taps[i]));
            const std::string fault =
                error_fault(fmt::format("tap {} of member {}", i, m), used_values(alone.taps[i], step),
                            used_values(shown, step), alone.tolerance);
            if (!fault.empty()) return fault;
        }
    }
    return {};
}

std::string state_fault(const Alone& alone, const Layouts& layouts, const Members& members, int count) {
    for (int m = 0; m < count; ++m) {
        for (size_t i = 0; i < alone.state.size(); ++i) {
            const TestTensor expected = stored_part(alone.state[i], layouts.state[i], m);
            if (expected.bytes.empty()) continue;
            const std::string fault =
                error_fault(fmt::format("state {} of member {}", i, m), ir::test::values_of(expected),
                            ir::test::values_of(members.state(m)[i]), alone.tolerance);
            if (!fault.empty()) return fault;
        }
    }
    return {};
}

// Results of collectives as further outputs, behind the graph's own.
std::vector<ir::Graph> with_results(const MemberGraphs& members) {
    std::vector<ir::Graph> graphs = members.graphs;
    for (ir::Graph& graph : graphs) {
        std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
        for (const ir::Node* node : collective_nodes(graph)) outputs.push_back(node->outputs[0]);
        graph.set_outputs(std::move(outputs));
    }
    return graphs;
}

std::string bits_fault(const MemberGraphs& members, std::span<const ir::Graph> graphs,
                       const MembersRunner& runner, const TestStep& step) {
    const auto result = [&](size_t m, size_t i) -> const TestTensor& {
        const auto outputs = graphs[m].outputs();
        const size_t own = outputs.size() - members.collectives.size();
        return runner.value(static_cast<int>(m), stored_value(graphs[m], outputs[own + i]));
    };
    for (size_t i = 0; i < members.collectives.size(); ++i) {
        for (size_t m = 1; m < graphs.size(); ++m) {
            if (!same_bits(result(0, i), result(m, i), step))
                return fmt::format("member {} has other bits of the collective after {}", m,
                                   members.collectives[i].after);
        }
    }
    return {};
}

// Of the graphs with collectives, whose ids they are.
std::string mirrored_fault(const MemberGraphs& members, const MembersRunner& runner, const TestStep& step) {
    const auto value = [&](const std::vector<ValueId>& ids, size_t m) -> const TestTensor& {
        return runner.value(static_cast<int>(m), stored_value(members.graphs[m], ids[m]));
    };
    for (const std::vector<ValueId>& ids : members.mirrored) {
        for (size_t m = 1; m < members.graphs.size(); ++m) {
            const TestTensor &first = value(ids, 0), &own = value(ids, m);
            if (first.bytes.empty()) continue;  // not an activation
            const std::string& name = members.graphs[0].value(ids[0]).name;
            if (own.desc != first.desc || !same_bits(first, own, step))
                return fmt::format("member {} has another {}, which is mirrored", m, name);
        }
    }
    return {};
}

std::string numbers_fault(const RandomModel& model, const Alone& alone, const Layouts& layouts,
                          const MemberGraphs& members, std::optional<Way> way) {
    const std::vector<ir::Graph> marked = with_results(members);
    collectives::LoweredGraphs lowered;
    if (way) lowered = collectives::lower(marked, *way);
    const std::span<const ir::Graph> graphs = way ? lowered.graphs : marked;
    const int count = model.cut.members();
    const TestStep step(model.step);
    Members stored(model, layouts, count);
    const MembersRunner runner = stored.run(graphs, lowered.rounds, step);
    if (const std::string fault = bits_fault(members, graphs, runner, step); !fault.empty()) return fault;
    if (!way) {
        if (const std::string fault = mirrored_fault(members, runner, step); !fault.empty()) return fault;
    }
    if (alone.close_choice) return {};
    // The members' own graphs, for their outputs: marked ones begin with them.
    for (const std::string& fault : {tap_values_fault(alone, graphs, runner, step),
                                     output_fault(model, alone, members, graphs, runner, step),
                                     candidates_fault(alone, members, graphs, runner, step),
                                     state_fault(alone, layouts, stored, count)}) {
        if (!fault.empty()) return fault;
    }
    return {};
}

std::string all_numbers_fault(const RandomModel& model, const Alone& alone, const Layouts& layouts,
                              const MemberGraphs& members, std::span<const Way> ways) {
    if (const std::string fault = numbers_fault(model, alone, layouts, members, std::nullopt); !fault.empty())
        return fault;
    for (const Way way : ways) {
        if (const std::string fault = numbers_fault(model, alone, layouts, members, way); !fault.empty())
            return fmt::format("{}: {}", collectives::way_name(way), fault);
    }
    return {};
}

// --- models that blow up rounding, such as one with a norm over two values that are nearly equal

// The model with the last bits of its weights and state changed.
RandomModel shaken(const RandomModel& model) {
    RandomModel other = model;
    uint64_t seed = model.choices.seed;
    for (std::vector<TestTensor>* tensors : {&other.weight_data, &other.state_data}) {
        for (TestTensor& tensor : *tensors) {
            if (tensor.desc.type != ir::DType::F32) continue;
            std::vector<float> values = ir::test::values_of(tensor);
            const std::vector<float> noise =
                ir::test::random_values(static_cast<int64_t>(values.size()), ++seed);
            for (size_t i = 0; i < values.size(); ++i) values[i] *= 1 + noise[i] * 0x1p-22f;
            tensor = ir::test::make_tensor(tensor.desc, values);
        }
    }
    return other;
}

// How far a few last bits take one member alone.
double shaking_error(const RandomModel& model, const Alone& alone) {
    const TestStep step(model.step);
    const Alone other = run_alone(shaken(model));
    double worst =
        ir::test::normalised_error(used_values(alone.output, step), used_values(other.output, step));
    for (size_t i = 0; i < alone.taps.size(); ++i)
        worst = std::max(worst, ir::test::normalised_error(used_values(alone.taps[i], step),
                                                           used_values(other.taps[i], step)));
    for (size_t i = 0; i < alone.state.size(); ++i)
        worst = std::max(worst, ir::test::normalised_error(ir::test::values_of(alone.state[i]),
                                                           ir::test::values_of(other.state[i])));
    return worst;
}

// Members add in another order, some of them over few values: a hundred times what a few bits do is no fault.
std::string judged_numbers_fault(const RandomModel& model, const Alone& alone, const Layouts& layouts,
                                 const MemberGraphs& members, std::span<const Way> ways) {
    const std::string fault = all_numbers_fault(model, alone, layouts, members, ways);
    if (fault.empty()) return fault;
    Alone lenient = alone;
    lenient.tolerance = std::max(alone.tolerance, 100 * shaking_error(model, alone));
    return lenient.tolerance == alone.tolerance ? fault
                                                : all_numbers_fault(model, lenient, layouts, members, ways);
}

}  // namespace

Alone run_alone(const RandomModel& model) {
    const TestStep step(model.step);
    Members members(model);
    const MembersRunner runner = members.run({&model.graph, 1}, {}, step);
    const auto value = [&](ValueId id) { return runner.value(0, stored_value(model.graph, id)); };
    Alone alone{
        .output = value(model.graph.outputs()[0]), .state = members.state(0), .tolerance = model.tolerance};
    for (const ValueId tap : taps_of(model.graph)) alone.taps.push_back(value(tap));
    alone.close_choice = any_close_choice(model.graph, runner, step);
    return alone;
}

std::string shard_fault(const RandomModel& model, const Alone& alone, const Layouts& layouts,
                        const ShardRule& rule) {
    MemberGraphs members;
    try {
        members = shard(model.graph, layouts, model.cut.members(), {.rule = rule});
    } catch (const Error& error) {
        return model.normalises_rows ? "" : fmt::format("refused: {}", error.what());
    }
    if (model.normalises_rows) return "a norm over all heads is not refused";
    if (static_cast<int64_t>(members.collectives.size()) != model.collectives)
        return fmt::format("{} collectives instead of {}", members.collectives.size(), model.collectives);
    if (const std::string fault = graphs_fault(model, members); !fault.empty()) return fault;
    const Way ways[] = {Way::automatic, Way::direct, Way::pairwise, Way::butterfly};
    return judged_numbers_fault(model, alone, layouts, members, ways);
}

std::string odd_layouts_fault(const RandomModel& model, const Alone& alone, const Layouts& layouts,
                              const ShardRule& rule) {
    MemberGraphs members;
    try {
        members = shard(model.graph, layouts, model.cut.members(), {.rule = rule});
    } catch (const Error&) {
        return {};
    }
    if (const std::string fault = graphs_fault(model, members); !fault.empty()) return fault;
    return judged_numbers_fault(model, alone, layouts, members, {});
}

}  // namespace plait::plan::test
