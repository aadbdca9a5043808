#include "plait/collectives/lower.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "plait/base/ensure.h"

namespace plait::collectives {
namespace {

using ir::ValueId;

// One member's graph, copied node by node.
class Copy {
  public:
    explicit Copy(const ir::Graph& from)
        : from_(from),
          to_(from.capacity(), std::vector(from.groups().begin(), from.groups().end())),
          copied_(from.values().size(), -1) {}

    // Copies up to the next collective; nullptr at the end.
    const ir::Node* advance() {
        for (; next_ < from_.nodes().size(); ++next_) {
            const ir::Node& node = from_.nodes()[next_];
            if (ir::op_is_collective(node.op)) return &from_.nodes()[next_++];
            const std::vector<ValueId> outputs = to_.add(node.op, node.name, copied(node.inputs));
            for (size_t i = 0; i < outputs.size(); ++i) set(node.outputs[i], outputs[i]);
        }
        return nullptr;
    }

    std::vector<ValueId> copied(const std::vector<ValueId>& ids) {
        std::vector<ValueId> result;
        for (const ValueId id : ids) result.push_back(copied(id));
        return result;
    }

    ValueId add(const ir::Op& op, const std::string& name, std::vector<ValueId> inputs) {
        return to_.add(op, name, std::move(inputs)).at(0);
    }
    std::vector<ValueId> exchange(int id, const std::string& name, std::vector<ValueId> sent,
                                  std::vector<ir::TensorDesc> received) {
        return to_.add(ir::Exchange{.id = id, .received = std::move(received)}, name, std::move(sent));
    }
    const ir::TensorDesc& desc(ValueId id) const { return to_.value(id).desc; }
    void set(ValueId former, ValueId now) { copied_[static_cast<size_t>(former)] = now; }

    ir::Graph finish() && {
        to_.set_outputs(copied(std::vector(from_.outputs().begin(), from_.outputs().end())));
        return std::move(to_);
    }

  private:
    ValueId copied(ValueId id) {
        ValueId& now = copied_[static_cast<size_t>(id)];
        if (now < 0) now = source(from_.value(id));
        return now;
    }

    ValueId source(const ir::Value& value) {
        switch (value.kind) {
            case ir::ValueKind::weight:
                return to_.weight(value.index, {value.name, value.desc, {}});
            case ir::ValueKind::state:
                return to_.state(value.index, value.name, value.desc);
            case ir::ValueKind::step_input:
                return to_.step_input(static_cast<ir::StepInput>(value.index));
            case ir::ValueKind::activation:
                break;
        }
        ENSURE(false, value.name);
    }

    const ir::Graph& from_;
    ir::Graph to_;
    std::vector<ValueId> copied_;
    size_t next_ = 0;
};

// What the members hand over and get in one round: put() one value after the other, then run().
class Trade {
  public:
    explicit Trade(size_t members) : sent_(members), wanted_(members), outputs_(members) {}

    // Returns which of the receiver's outputs it will be.
    int put(int from, ValueId value, const ir::TensorDesc& desc, int to) {
        auto& sent = sent_[static_cast<size_t>(from)];
        const auto found = std::ranges::find(sent, value);
        const auto input = static_cast<int>(found - sent.begin());
        if (found == sent.end()) sent.push_back(value);
        auto& wanted = wanted_[static_cast<size_t>(to)];
        const auto output = static_cast<int>(wanted.size());
        wanted.push_back(desc);
        round_.moves.push_back({from, input, to, output});
        return output;
    }

    void run(std::vector<Copy>& copies, int id, const std::string& name) {
        for (size_t m = 0; m < copies.size(); ++m)
            outputs_[m] = copies[m].exchange(id, name, std::move(sent_[m]), std::move(wanted_[m]));
    }

    ValueId got(int member, int output) const {
        return outputs_[static_cast<size_t>(member)][static_cast<size_t>(output)];
    }
    const Round& round() const { return round_; }

  private:
    std::vector<std::vector<ValueId>> sent_;
    std::vector<std::vector<ir::TensorDesc>> wanted_;
    std::vector<std::vector<ValueId>> outputs_;
    Round round_;
};

class Lowering {
  public:
    Lowering(std::span<const ir::Graph> graphs, Way way) : way_(way) {
        for (const ir::Graph& graph : graphs) copies_.emplace_back(graph);
        members_ = static_cast<int>(copies_.size());
    }

    LoweredGraphs run() {
        while (next()) {
            const bool is_check = std::holds_alternative<ir::CheckEqual>(nodes_[0]->op);
            if (!is_check) begin_note();
            std::visit([&](const auto& op) { lower(op); }, nodes_[0]->op);
            if (!is_check) end_note();
            for (int m = 0; m < members_; ++m) {
                const auto& outputs = nodes_[static_cast<size_t>(m)]->outputs;
                if (!outputs.empty()) copy(m).set(outputs[0], values_[static_cast<size_t>(m)]);
            }
        }
        for (Copy& member : copies_) result_.graphs.push_back(std::move(member).finish());
        return std::move(result_);
    }

  private:
    Copy& copy(int m) { return copies_[static_cast<size_t>(m)]; }
    ValueId& value(int m) { return values_[static_cast<size_t>(m)]; }
    const std::string& name() const { return nodes_[0]->name; }

    // Goes on to the next collective, with the members' inputs in values_; -1 where there is none.
    bool next() {
        nodes_.clear();
        values_.clear();
        for (Copy& member : copies_) {
            const ir::Node* node = member.advance();
            nodes_.push_back(node);
            values_.push_back(node == nullptr || node->inputs.empty() ? -1 : member.copied(node->inputs)[0]);
        }
        for (const ir::Node* node : nodes_) {
            ENSURE((node == nullptr) == (nodes_[0] == nullptr), "the members have equally many collectives");
            ENSURE(node == nullptr || ir::op_id(node->op) == ir::op_id(nodes_[0]->op),
                   "the members have the same collectives");
        }
        return nodes_[0] != nullptr;
    }

    int rounds() const { return static_cast<int>(result_.rounds.size()); }

    void begin_note() {
        Lowered& note = result_.collectives.emplace_back();
        note.first_round = rounds();
        for (int m = 0; m < members_; ++m) {
            if (value(m) >= 0)
                note.row_bytes = std::max(note.row_bytes, copy(m).desc(value(m)).slice_bytes());
        }
    }

    void end_note() {
        Lowered& note = result_.collectives.back();
        note.rounds = rounds() - note.first_round;
    }

    void run(Trade& trade) {
        trade.run(copies_, rounds(), name());
        result_.rounds.push_back(trade.round());
    }

    template <class OpType>
    void lower(const OpType&) {
        ENSURE(false, "not a collective");
    }

    void lower(const ir::AllReduce& op) {
        result_.collectives.back().way = way_ == Way::automatic ? Way::butterfly : way_;
        switch (way_) {
            case Way::automatic:
            case Way::butterfly:
                return butterfly(op.reduction);
            case Way::direct:
                return combine_all(op.reduction, 1);
            case Way::pairwise:
                return combine_all(op.reduction, members_ - 1);
        }
    }

    ValueId combined(int m, ir::Reduction reduction, ValueId a, ValueId b) {
        return copy(m).add(ir::Combine{.reduction = reduction}, name(), {a, b});
    }

    // Everybody gets everybody's term, over so many rounds.
    void combine_all(ir::Reduction reduction, int rounds) {
        if (members_ == 1) return;
        std::vector<std::vector<ValueId>> terms(copies_.size(), std::vector<ValueId>(copies_.size()));
        const int distances = (members_ - 1) / rounds;
        for (int first = 1; first < members_; first += distances) {
            Trade trade(copies_.size());
            std::vector<std::vector<int>> outputs(copies_.size(), std::vector<int>(copies_.size()));
            for (int distance = first; distance < first + distances; ++distance) {
                for (int from = 0; from < members_; ++from) {
                    const int to = (from + distance) % members_;
                    outputs[static_cast<size_t>(to)][static_cast<size_t>(from)] =
                        trade.put(from, value(from), copy(from).desc(value(from)), to);
                }
            }
            run(trade);
            for (int distance = first; distance < first + distances; ++distance) {
                for (int from = 0; from < members_; ++from) {
                    const int to = (from + distance) % members_;
                    terms[static_cast<size_t>(to)][static_cast<size_t>(from)] =
                        trade.got(to, outputs[static_cast<size_t>(to)][static_cast<size_t>(from)]);
                }
            }
        }
        for (int m = 0; m < members_; ++m) {
            auto& own = terms[static_cast<size_t>(m)];
            own[static_cast<size_t>(m)] = value(m);
            ValueId sum = own[0];
            for (size_t from = 1; from < own.size(); ++from) sum = combined(m, reduction, sum, own[from]);
            value(m) = sum;
        }
    }

    void butterfly(ir::Reduction reduction) {
        const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(members_)));
        const int surplus = members_ - core;
        if (surplus > 0) fold(reduction, core);
        for (int distance = 1; distance < core; distance *= 2) {
            Trade trade(copies_.size());
            for (int m = 0; m < core; ++m) trade.put(m, value(m), copy(m).desc(value(m)), m ^ distance);
            run(trade);
            for (int m = 0; m < core; ++m) value(m) = combined(m, reduction, value(m), trade.got(m, 0));
        }
        if (surplus > 0) unfold(core);
    }

    // Members from `core` on give their terms to the first ones.
    void fold(ir::Reduction reduction, int core) {
        Trade trade(copies_.size());
        for (int m = core; m < members_; ++m) trade.put(m, value(m), copy(m).desc(value(m)), m - core);
        run(trade);
        for (int m = core; m < members_; ++m)
            value(m - core) = combined(m - core, reduction, value(m - core), trade.got(m - core, 0));
    }

    void unfold(int core) {
        Trade trade(copies_.size());
        for (int m = core; m < members_; ++m)
            trade.put(m - core, value(m - core), copy(m - core).desc(value(m - core)), m);
        run(trade);
        for (int m = core; m < members_; ++m) value(m) = trade.got(m, 0);
    }

    void lower(const ir::AllGather& op) {
        Trade trade(copies_.size());
        std::vector<std::vector<int>> outputs(copies_.size(), std::vector<int>(copies_.size(), -1));
        for (int from = 0; from < members_; ++from) {
            if (value(from) < 0) continue;
            for (int to = 0; to < members_; ++to) {
                if (to != from && (op.root < 0 || to == op.root))
                    outputs[static_cast<size_t>(to)][static_cast<size_t>(from)] =
                        trade.put(from, value(from), copy(from).desc(value(from)), to);
            }
        }
        run(trade);
        std::vector<ValueId> wholes;
        for (int to = 0; to < members_; ++to) {
            std::vector<ValueId> pieces;
            if (op.root >= 0 && to != op.root) {
                wholes.push_back(-1);
                continue;
            }
            for (int from = 0; from < members_; ++from) {
                const int output = outputs[static_cast<size_t>(to)][static_cast<size_t>(from)];
                if (output >= 0) pieces.push_back(trade.got(to, output));
                if (from == to && value(to) >= 0) pieces.push_back(value(to));
            }
            wholes.push_back(pieces.size() == 1 ? pieces[0] : copy(to).add(ir::Concat{}, name(), pieces));
        }
        values_ = std::move(wholes);
    }

    void lower(const ir::ReduceScatter& op) {
        std::vector<std::vector<ValueId>> pieces(copies_.size(), std::vector<ValueId>(copies_.size(), -1));
        Trade trade(copies_.size());
        std::vector<std::vector<int>> outputs(copies_.size(), std::vector<int>(copies_.size(), -1));
        for (int from = 0; from < members_; ++from) {
            int64_t begin = 0;
            for (int to = 0; to < members_; ++to) {
                const int64_t extent = op.extents[static_cast<size_t>(to)];
                if (extent > 0) {
                    const ValueId piece =
                        copy(from).add(ir::Slice{.begin = begin, .extent = extent}, name(), {value(from)});
                    pieces[static_cast<size_t>(to)][static_cast<size_t>(from)] = piece;
                    if (from != to)
                        outputs[static_cast<size_t>(to)][static_cast<size_t>(from)] =
                            trade.put(from, piece, copy(from).desc(piece), to);
                }
                begin += extent;
            }
        }
        run(trade);
        for (int to = 0; to < members_; ++to) {
            value(to) = -1;
            for (int from = 0; from < members_; ++from) {
                ValueId term = pieces[static_cast<size_t>(to)][static_cast<size_t>(from)];
                if (term < 0) continue;
                if (from != to)
                    term = trade.got(to, outputs[static_cast<size_t>(to)][static_cast<size_t>(from)]);
                value(to) = value(to) < 0 ? term : combined(to, op.reduction, value(to), term);
            }
        }
    }

    void lower(const ir::Broadcast& op) {
        Trade trade(copies_.size());
        const ValueId root = value(op.root);
        for (int to = 0; to < members_; ++to) {
            if (to != op.root) trade.put(op.root, root, op.whole, to);
        }
        run(trade);
        for (int to = 0; to < members_; ++to) value(to) = to == op.root ? root : trade.got(to, 0);
    }

    // Nothing but an exchange at which everybody shows his value.
    void lower(const ir::CheckEqual& op) {
        const auto id = static_cast<int>(result_.rounds.size());
        result_.rounds.push_back({.moves = {}, .comparison = Comparison{copy(0).desc(value(0)), op.unlike}});
        for (int m = 0; m < members_; ++m) copy(m).exchange(id, name(), {value(m)}, {});
    }

    Way way_;
    int members_ = 0;
    std::vector<Copy> copies_;
    std::vector<const ir::Node*> nodes_;  // the members' next collective
    std::vector<ValueId> values_;         // by member: what goes in, then what comes out
    LoweredGraphs result_;
};

}  // namespace

const char* way_name(Way way) {
    switch (way) {
        case Way::automatic:
            return "auto";
        case Way::direct:
            return "direct";
        case Way::pairwise:
            return "pairwise";
        case Way::butterfly:
            return "butterfly";
    }
    return "";
}

LoweredGraphs lower(std::span<const ir::Graph> graphs, Way way) { return Lowering(graphs, way).run(); }

int rounds_of_reduction(Way way, int members) {
    if (members == 1) return 0;
    switch (way) {
        case Way::direct:
            return 1;
        case Way::pairwise:
            return members - 1;
        case Way::automatic:
        case Way::butterfly:
            break;
    }
    const auto core = std::bit_floor(static_cast<unsigned>(members));
    return std::countr_zero(core) + (static_cast<unsigned>(members) == core ? 0 : 2);
}

}  // namespace plait::collectives
