#include "plait/plan/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::plan {
namespace {

using ir::Layout;
using ir::LayoutKind;
using ir::ValueId;

constexpr ValueId kNothing = -1;  // the member has no part of the value

using Locals = std::vector<ValueId>;  // by member

// A value of the whole graph as the members have it.
struct Spread {
    Layout layout;
    Locals locals;
    std::vector<bool> zero;  // by member, of partial values: the term is known to be 0
    // Mirrored terms that are added once the sum is complete, with the names of the nodes that wanted to.
    std::vector<std::pair<std::string, Locals>> deferred;
    bool gather = false;
};

class Sharder {
  public:
    Sharder(const ir::Graph& graph, const Layouts& layouts, int members, const ShardOptions& options)
        : graph_(graph),
          layouts_(layouts),
          members_(members),
          options_(options),
          spreads_(graph.values().size()),
          uses_(graph.values().size()) {
        for (int member = 0; member < members; ++member)
            result_.graphs.emplace_back(graph.capacity(),
                                        std::vector(graph.groups().begin(), graph.groups().end()));
    }

    MemberGraphs run() {
        count_uses();
        for (size_t id = 0; id < spreads_.size(); ++id) {
            if (graph_.values()[id].producer < 0) spreads_[id] = source(static_cast<ValueId>(id));
        }
        for (node_ = 0; node_ < graph_.nodes().size(); ++node_) spread_node(graph_.nodes()[node_]);
        finish();
        return std::move(result_);
    }

  private:
    void count_uses() {
        for (const ir::Node& node : graph_.nodes()) {
            for (const ValueId id : node.inputs) ++uses_[static_cast<size_t>(id)];
        }
        for (const ValueId id : graph_.outputs()) ++uses_[static_cast<size_t>(id)];
    }

    Spread& spread(ValueId id) { return spreads_[static_cast<size_t>(id)]; }
    ir::Graph& member(int m) { return result_.graphs[static_cast<size_t>(m)]; }
    static ValueId& local(Locals& locals, int m) { return locals[static_cast<size_t>(m)]; }

    Spread source(ValueId id) {
        const ir::Value& value = graph_.value(id);
        const auto index = static_cast<size_t>(value.index);
        Spread spread;
        if (value.kind == ir::ValueKind::weight) spread.layout = layouts_.weights[index];
        if (value.kind == ir::ValueKind::state) spread.layout = layouts_.state[index];
        for (int m = 0; m < members_; ++m) spread.locals.push_back(source_of(m, value, spread.layout));
        return spread;
    }

    ValueId source_of(int m, const ir::Value& value, const Layout& layout) {
        const bool has = !layout.is(LayoutKind::split) || layout.extent_of(m) > 0;
        if (!has) return kNothing;
        switch (value.kind) {
            case ir::ValueKind::weight:
                return member(m).weight(value.index,
                                        {value.name, ir::stored_desc(value.desc, layout, m), {}});
            case ir::ValueKind::state:
                return member(m).state(value.index, value.name, ir::member_desc(value.desc, layout, m));
            case ir::ValueKind::step_input:
                return member(m).step_input(static_cast<ir::StepInput>(value.index));
            case ir::ValueKind::activation:
                break;
        }
        ENSURE(false, value.name);
    }

    // --- one node

    void spread_node(const ir::Node& node) {
        if (!node.outputs.empty() && !spread(node.outputs[0]).locals.empty()) return;  // done with another
        while (!try_node(node)) {
        }
    }

    // False when an input was made whole first: the rule is asked again.
    bool try_node(const ir::Node& node) {
        std::vector<ir::TensorDesc> descs = graph_.input_descs(node);
        std::vector<Layout> layouts;
        for (const ValueId id : node.inputs) layouts.push_back(spread(id).layout);
        const bool all_mirrored = std::ranges::all_of(
            layouts, [](const Layout& layout) { return layout.is(LayoutKind::mirrored); });
        if (all_mirrored) {
            ir::ShardAnswer<ir::Op> answer;
            answer.outputs.resize(node.outputs.size());
            if (!options_.alike && ir::op_decides(node.op)) hand_out(node.inputs[0]);
            emit(node, answer);
            return true;
        }
        const ir::ShardAnswer<ir::Op> answer =
            options_.rule(node.op, {.inputs = descs, .layouts = layouts, .members = members_});
        if (answer.whole) {
            make_whole(node, node.inputs[*answer.whole]);
            return false;
        }
        if (!answer.refusal.empty()) throw Error(fmt::format("{}: {}", node.name, answer.refusal));
        for (size_t input = 0; input < node.inputs.size(); ++input) {
            if (must_finish(node, answer, input)) {
                make_whole(node, node.inputs[input]);
                return false;
            }
        }
        if (answer.decompose) {
            emit_decomposed(node, answer);
        } else {
            emit(node, answer);
        }
        return true;
    }

    // A sum that others need too, or with terms to add that cannot go along, ends here; so does a row that
    // was to be gathered as soon as it is needed for more than value by value.
    bool must_finish(const ir::Node& node, const ir::ShardAnswer<ir::Op>& answer, size_t input) {
        const Spread& x = spread(node.inputs[input]);
        const bool shared = uses_[static_cast<size_t>(node.inputs[input])] > 1;
        if (x.layout.is(LayoutKind::split) && x.gather)
            return shared || answer.decompose || answer.outputs[0] != x.layout;
        if (!x.layout.is(LayoutKind::partial)) return false;
        return shared || (!x.deferred.empty() && !can_defer(node, answer));
    }

    // Whether terms put off can be put off further: behind a sum, or behind what does the same to every term.
    bool can_defer(const ir::Node& node, const ir::ShardAnswer<ir::Op>& answer) {
        if (answer.sums) return true;
        if (answer.once || !answer.ops.empty()) return false;
        const Spread& x = spread(node.inputs[0]);
        if ((ir::op_linear_in(node.op) & 1u) == 0 || !x.layout.is(LayoutKind::partial)) return false;
        const ir::TensorDesc& wanted = graph_.value(node.inputs[0]).desc;
        return std::ranges::all_of(
            x.deferred, [&](const auto& term) { return member(0).value(term.second[0]).desc == wanted; });
    }

    // --- emitting

    ValueId add(int m, const ir::Op& op, const std::string& name, std::vector<ValueId> inputs) {
        const std::vector<ValueId> outputs = member(m).add(op, name, std::move(inputs));
        ENSURE(outputs.size() == 1, name);
        return outputs[0];
    }

    // The same for a piece or a widened value: several nodes may want the same one, which is made once.
    ValueId add_once(int m, const ir::Op& op, const std::string& name, std::vector<ValueId> inputs) {
        auto& made = pieces_[{m, inputs}];
        const auto found = std::ranges::find(made, op, [](const auto& piece) { return piece.first; });
        if (found != made.end()) return found->second;
        const ValueId id = add(m, op, name, std::move(inputs));
        made.emplace_back(op, id);
        return id;
    }

    void emit(const ir::Node& node, const ir::ShardAnswer<ir::Op>& answer) {
        std::vector<Spread> outputs(node.outputs.size());
        for (size_t i = 0; i < outputs.size(); ++i) {
            outputs[i].layout = answer.outputs[i];
            outputs[i].locals.assign(static_cast<size_t>(members_), kNothing);
            outputs[i].zero.assign(static_cast<size_t>(members_), false);
            outputs[i].gather = answer.gather || inherits_gather(node, answer.outputs[i]);
        }
        carry_deferred(node, answer, outputs);
        const int owner = answer.once ? first_with_term(spread(node.inputs[0])) : -1;
        for (int m = 0; m < members_; ++m) emit_on(m, node, answer, owner, outputs);
        for (size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i].layout.is(LayoutKind::mirrored)) result_.mirrored.push_back(outputs[i].locals);
            spread(node.outputs[i]) = std::move(outputs[i]);
        }
    }

    bool inherits_gather(const ir::Node& node, const Layout& output) {
        if (!output.is(LayoutKind::split)) return false;
        return std::ranges::any_of(node.inputs, [&](ValueId id) { return spread(id).gather; });
    }

    static int first_with_term(const Spread& x) {
        const auto found = std::ranges::find(x.zero, false);
        return found == x.zero.end() ? 0 : static_cast<int>(found - x.zero.begin());
    }

    void carry_deferred(const ir::Node& node, const ir::ShardAnswer<ir::Op>& answer,
                        std::vector<Spread>& outputs) {
        for (size_t input = 0; input < node.inputs.size(); ++input) {
            const Spread& x = spread(node.inputs[input]);
            for (const auto& [name, term] : x.deferred) {
                if (answer.sums) {
                    outputs[0].deferred.emplace_back(name, term);
                    continue;
                }
                Locals mapped;
                for (int m = 0; m < members_; ++m) {
                    std::vector<ValueId> inputs{term[static_cast<size_t>(m)]};
                    for (size_t other = 1; other < node.inputs.size(); ++other)
                        inputs.push_back(local(spread(node.inputs[other]).locals, m));
                    mapped.push_back(add(m, node.op, node.name + ".term", std::move(inputs)));
                }
                outputs[0].deferred.emplace_back(name, std::move(mapped));
            }
        }
        if (answer.deferred)
            outputs[0].deferred.emplace_back(node.name, spread(node.inputs[*answer.deferred]).locals);
    }

    void emit_on(int m, const ir::Node& node, const ir::ShardAnswer<ir::Op>& answer, int owner,
                 std::vector<Spread>& outputs) {
        if (answer.deferred || (answer.once && m != owner)) {  // the other term goes on
            const size_t kept = answer.deferred ? 1 - *answer.deferred : 0;
            const Spread& x = spread(node.inputs[kept]);
            local(outputs[0].locals, m) = x.locals[static_cast<size_t>(m)];
            outputs[0].zero[static_cast<size_t>(m)] = x.zero[static_cast<size_t>(m)];
            return;
        }
        if (ir::op_writes_state(node.op) == ir::StateWrites::all_inputs) return emit_each(m, node, outputs);
        std::vector<ValueId> inputs;
        for (size_t input = 0; input < node.inputs.size(); ++input)
            inputs.push_back(local_input(m, node, answer, input));
        if (std::ranges::find(inputs, kNothing) != inputs.end()) return emit_nothing(m, node, outputs);
        const bool zero = all_terms_zero(m, node);
        const ir::Op& op = answer.ops.empty() ? node.op : answer.ops[static_cast<size_t>(m)];
        const std::vector<ValueId> made = member(m).add(op, node.name, std::move(inputs));
        for (size_t i = 0; i < made.size(); ++i) {
            local(outputs[i].locals, m) = made[i];
            outputs[i].zero[static_cast<size_t>(m)] = zero;
        }
    }

    bool all_terms_zero(int m, const ir::Node& node) {
        bool any = false;
        for (const ValueId id : node.inputs) {
            const Spread& x = spread(id);
            if (!x.layout.is(LayoutKind::partial)) continue;
            any = true;
            if (!x.zero[static_cast<size_t>(m)]) return false;
        }
        return any;
    }

    // An op with an output for every input runs on those that the member has.
    void emit_each(int m, const ir::Node& node, std::vector<Spread>& outputs) {
        std::vector<ValueId> inputs;
        std::vector<size_t> places;
        for (size_t input = 0; input < node.inputs.size(); ++input) {
            const ValueId id = local(spread(node.inputs[input]).locals, m);
            if (id == kNothing) continue;
            inputs.push_back(id);
            places.push_back(input);
        }
        if (inputs.empty()) return;
        const std::vector<ValueId> made = member(m).add(node.op, node.name, std::move(inputs));
        for (size_t i = 0; i < made.size(); ++i) local(outputs[places[i]].locals, m) = made[i];
    }

    // The member has no part in the node: nothing of a split result, zeros of a sum.
    void emit_nothing(int m, const ir::Node& node, std::vector<Spread>& outputs) {
        for (size_t i = 0; i < outputs.size(); ++i) {
            const LayoutKind kind = outputs[i].layout.kind;
            if (kind == LayoutKind::split) continue;
            ENSURE(kind != LayoutKind::mirrored, node.name);
            local(outputs[i].locals, m) = zeros(m, graph_.value(node.outputs[i]).desc, node.name);
            outputs[i].zero[static_cast<size_t>(m)] = true;
        }
    }

    ValueId zeros(int m, const ir::TensorDesc& desc, const std::string& name) {
        return add(m, ir::Zeros{.shape = desc.shape, .rows = desc.rows}, name + ".nothing", {});
    }

    ValueId local_input(int m, const ir::Node& node, const ir::ShardAnswer<ir::Op>& answer, size_t input) {
        ValueId id = local(spread(node.inputs[input]).locals, m);
        if (id == kNothing) return kNothing;
        for (const ir::LocalSlice& slice : answer.slices) {
            if (slice.input == input) id = sliced(m, node, id, slice.layout);
        }
        if (input == 0 && id != kNothing && !answer.margins.empty()) {
            const ir::Margin margin = answer.margins[static_cast<size_t>(m)];
            if (margin != ir::Margin{})
                id = add_once(m, ir::Pad{.before = margin.before, .after = margin.after},
                              node.name + ".margins", {id});
        }
        return id;
    }

    // The member's pieces of a value that it has whole.
    ValueId sliced(int m, const ir::Node& node, ValueId id, const Layout& layout) {
        const ir::TensorDesc& desc = member(m).value(id).desc;
        if (desc.type != ir::DType::F32 || desc.shape.rank() != 2 || layout.axis != 1 ||
            member(m).value(id).kind != ir::ValueKind::activation)
            throw Error(fmt::format("{}: {} {} lies whole on every member and would have to be {}", node.name,
                                    member(m).value(id).name, desc.text(), layout.text()));
        std::vector<ValueId> pieces;
        for (const ir::Range& piece : layout.pieces(m)) {
            if (!piece.empty())
                pieces.push_back(add_once(m, ir::Slice{.begin = piece.begin, .extent = piece.size()},
                                          node.name + ".slice", {id}));
        }
        if (pieces.empty()) return kNothing;
        return pieces.size() == 1 ? pieces[0]
                                  : add_once(m, ir::Concat{}, node.name + ".slices", std::move(pieces));
    }

    // --- collectives

    void note(const ir::Op& op, const std::string& after, const ir::TensorDesc& desc) {
        result_.collectives.push_back({op, after, desc});
    }

    void check_equal(const std::string& name, const Locals& values, bool unlike) {
        if (!options_.check_members) return;
        for (int m = 0; m < members_; ++m)
            member(m).add(ir::CheckEqual{.unlike = unlike}, name, {values[static_cast<size_t>(m)]});
    }

    Locals all_reduce(const std::string& name, const Locals& terms) {
        const ir::AllReduce op{ir::Reduction::sum};
        note(op, name, member(0).value(terms[0]).desc);
        Locals sums;
        for (int m = 0; m < members_; ++m)
            sums.push_back(add(m, op, name + ".reduce", {terms[static_cast<size_t>(m)]}));
        check_equal(name + ".reduce", sums, true);
        return sums;
    }

    // The first member's value on all.
    void hand_out(ValueId id) {
        Spread& x = spread(id);
        const ir::Broadcast op{.whole = graph_.value(id).desc, .root = 0};
        note(op, graph_.value(id).name, op.whole);
        for (int m = 0; m < members_; ++m) {
            ValueId& own = local(x.locals, m);
            own = add(m, op, graph_.value(id).name + ".broadcast",
                      m == op.root ? std::vector{own} : std::vector<ValueId>{});
        }
        check_equal(graph_.value(id).name + ".broadcast", x.locals, true);
    }

    void make_whole(const ir::Node& reader, ValueId id) {
        Spread& x = spread(id);
        const std::string& name = graph_.value(id).name;
        switch (x.layout.kind) {
            case LayoutKind::mirrored:
                ENSURE(false, reader.name);
            case LayoutKind::split:
                if (!x.gather) {
                    throw Error(fmt::format("{}: {} needs {} whole, which is {}", reader.name,
                                            ir::op_name(reader.op), name, x.layout.text()));
                }
                x.locals = gathered(name, graph_.value(id).desc, x);
                break;
            case LayoutKind::partial:
            case LayoutKind::routed:
                x.locals = all_reduce(name, x.locals);
                break;
        }
        for (const auto& [node_name, term] : x.deferred) {
            for (int m = 0; m < members_; ++m)
                local(x.locals, m) =
                    add(m, ir::Add{}, node_name, {local(x.locals, m), term[static_cast<size_t>(m)]});
        }
        if (!x.deferred.empty()) check_equal(x.deferred.back().first, x.locals, false);
        x.layout = Layout::mirrored();
        result_.mirrored.push_back(x.locals);
        x.deferred.clear();
        x.gather = false;
    }

    Locals gathered(const std::string& name, const ir::TensorDesc& whole, const Spread& x) {
        ir::AllGather op{.whole = whole};
        for (int m = 0; m < members_; ++m) op.extents.push_back(x.layout.extent_of(m));
        note(op, name, whole);
        Locals wholes;
        for (int m = 0; m < members_; ++m) {
            const ValueId piece = x.locals[static_cast<size_t>(m)];
            wholes.push_back(add(m, op, name + ".gather",
                                 piece == kNothing ? std::vector<ValueId>{} : std::vector{piece}));
        }
        check_equal(name + ".gather", wholes, true);
        return wholes;
    }

    // --- a row that is normalised in pieces

    // A decomposed norm, and the next one when it needs nothing of the first: their sums share one message.
    void emit_decomposed(const ir::Node& node, const ir::ShardAnswer<ir::Op>& answer) {
        std::vector<Halved> norms{halve(node, answer)};
        if (node_ + 1 < graph_.nodes().size()) {
            const ir::Node& next = graph_.nodes()[node_ + 1];
            if (const auto second = decomposable(next)) norms.push_back(halve(next, *second));
        }
        const Locals sums = all_reduce(node.name, joined(norms));
        for (size_t i = 0; i < norms.size(); ++i) rescale(norms[i], i, norms.size(), sums);
    }

    struct Halved {
        const ir::Node* node = nullptr;
        ir::ShardAnswer<ir::Op> answer;
        Locals sums;
    };

    std::optional<ir::ShardAnswer<ir::Op>> decomposable(const ir::Node& node) {
        std::vector<Layout> layouts;
        for (const ValueId id : node.inputs) {
            if (spread(id).locals.empty()) return std::nullopt;
            layouts.push_back(spread(id).layout);
        }
        if (std::ranges::all_of(layouts, [](const Layout& l) { return l.is(LayoutKind::mirrored); }))
            return std::nullopt;
        const std::vector<ir::TensorDesc> descs = graph_.input_descs(node);
        ir::ShardAnswer<ir::Op> answer =
            options_.rule(node.op, {.inputs = descs, .layouts = layouts, .members = members_});
        return answer.decompose ? std::optional(std::move(answer)) : std::nullopt;
    }

    ir::Decomposed halves_of(const ir::Node& node) const {
        return ir::decomposed(node.op, graph_.value(node.inputs[0]).desc.shape.last());
    }

    // Each member's sums of squares over what belongs to it first: heads that two members have count once.
    Halved halve(const ir::Node& node, const ir::ShardAnswer<ir::Op>& answer) {
        Halved norm{.node = &node, .answer = answer};
        const Spread& x = spread(node.inputs[0]);
        const ir::TensorDesc& whole = graph_.value(node.inputs[0]).desc;
        ENSURE(x.layout.segments.size() == 1, node.name);
        int64_t counted = 0;
        for (int m = 0; m < members_; ++m) {
            const ir::Range& has = x.layout.segments[0].ranges[static_cast<size_t>(m)];
            const int64_t begin = std::max(has.begin, counted);
            ValueId own = x.locals[static_cast<size_t>(m)];
            if (own == kNothing || begin >= has.end) {
                norm.sums.push_back(zeros(m, {ir::DType::F32, {whole.shape[0], 1}, whole.rows}, node.name));
                continue;
            }
            if (begin > has.begin)
                own = add(m, ir::Slice{.begin = begin - has.begin, .extent = has.end - begin},
                          node.name + ".own", {own});
            norm.sums.push_back(add(m, halves_of(node).squares, node.name + ".squares", {own}));
            counted = has.end;
        }
        return norm;
    }

    Locals joined(const std::vector<Halved>& norms) {
        if (norms.size() == 1) return norms[0].sums;
        Locals all;
        for (int m = 0; m < members_; ++m) {
            std::vector<ValueId> sums;
            for (const Halved& norm : norms) sums.push_back(norm.sums[static_cast<size_t>(m)]);
            all.push_back(add(m, ir::Concat{}, norms[0].node->name + ".squares", std::move(sums)));
        }
        return all;
    }

    void rescale(const Halved& norm, size_t place, size_t count, const Locals& sums) {
        const ir::Node& node = *norm.node;
        const ir::Op scale = halves_of(node).scale;
        Spread output{.layout = norm.answer.outputs[0]};
        for (int m = 0; m < members_; ++m) {
            const ValueId x = local_input(m, node, norm.answer, 0);
            const ValueId weight = local_input(m, node, norm.answer, 1);
            if (x == kNothing) {
                output.locals.push_back(kNothing);
                continue;
            }
            ValueId sum = sums[static_cast<size_t>(m)];
            if (count > 1)
                sum = add(m, ir::Slice{.begin = static_cast<int64_t>(place), .extent = 1}, node.name + ".sum",
                          {sum});
            output.locals.push_back(add(m, scale, node.name, {x, sum, weight}));
        }
        output.zero.assign(static_cast<size_t>(members_), false);
        spread(node.outputs[0]) = std::move(output);
    }

    // --- the end

    void finish() {
        for (const ValueId id : graph_.outputs()) {
            const Layout& layout = spread(id).layout;
            const bool unfinished = layout.is(LayoutKind::partial) || layout.is(LayoutKind::routed);
            if (unfinished || spread(id).gather) make_whole(graph_.nodes().back(), id);
            result_.outputs.push_back(spread(id).layout);
        }
        for (int m = 0; m < members_; ++m) {
            std::vector<ValueId> outputs;
            for (const ValueId id : graph_.outputs()) {
                const ValueId own = local(spread(id).locals, m);
                if (own != kNothing) outputs.push_back(own);
            }
            member(m).set_outputs(std::move(outputs));
        }
    }

    const ir::Graph& graph_;
    const Layouts& layouts_;
    const int members_;
    const ShardOptions options_;
    std::vector<Spread> spreads_;
    std::vector<int> uses_;
    // Made by add_once: by member and inputs.
    std::map<std::pair<int, Locals>, std::vector<std::pair<ir::Op, ValueId>>> pieces_;
    size_t node_ = 0;
    MemberGraphs result_;
};

}  // namespace

MemberGraphs shard(const ir::Graph& graph, const Layouts& layouts, int members, const ShardOptions& options) {
    return Sharder(graph, layouts, members, options).run();
}

}  // namespace plait::plan
