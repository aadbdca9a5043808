#include "plait/collectives/cost.h"

#include <algorithm>
#include <span>

namespace plait::collectives {
namespace {

// A value that a member got from another, and the nodes between which it is kept.
struct Received {
    size_t from = 0;
    size_t until = 0;
    int64_t bytes = 0;
};

int64_t row_bytes(const ir::Graph& graph, ir::ValueId id) { return graph.value(id).desc.slice_bytes(); }

// The member's exchanges, and what it gets in them, by round.
struct MemberExchanges {
    std::vector<const ir::Node*> by_round;
    std::vector<std::vector<Received>> received;

    MemberExchanges(const ir::Graph& graph, size_t rounds) : by_round(rounds), received(rounds) {
        std::vector<size_t> last_use(graph.values().size());
        for (size_t node = 0; node < graph.nodes().size(); ++node) {
            for (const ir::ValueId id : graph.nodes()[node].inputs) last_use[static_cast<size_t>(id)] = node;
        }
        for (size_t node = 0; node < graph.nodes().size(); ++node) {
            const auto* exchange = std::get_if<ir::Exchange>(&graph.nodes()[node].op);
            if (exchange == nullptr) continue;
            const auto round = static_cast<size_t>(exchange->id);
            by_round[round] = &graph.nodes()[node];
            for (const ir::ValueId id : graph.nodes()[node].outputs)
                received[round].push_back(
                    {node, std::max(node, last_use[static_cast<size_t>(id)]), row_bytes(graph, id)});
        }
    }

    // The most that is kept at once of what these rounds brought: it is so when one of them has just come.
    int64_t most_kept(size_t first_round, size_t rounds) const {
        const auto some = std::span(received).subspan(first_round, rounds);
        int64_t most = 0;
        for (const auto& arriving : some) {
            if (arriving.empty()) continue;
            int64_t kept = 0;
            for (const auto& earlier : some) {
                for (const Received& value : earlier)
                    if (value.from <= arriving[0].from && value.until >= arriving[0].from)
                        kept += value.bytes;
            }
            most = std::max(most, kept);
        }
        return most;
    }
};

class Counter {
  public:
    explicit Counter(const LoweredGraphs& lowered) : lowered_(lowered) {
        for (const ir::Graph& graph : lowered.graphs) members_.emplace_back(graph, lowered.rounds.size());
    }

    Cost count(const Lowered& collective) const {
        Cost cost;
        std::vector<int64_t> sent(members_.size()), got(members_.size());
        for (int round = 0; round < collective.rounds; ++round) {
            const auto id = static_cast<size_t>(collective.first_round + round);
            for (const Move& move : lowered_.rounds[id].moves) {
                const int64_t bytes = bytes_of(move, id);
                sent[static_cast<size_t>(move.from)] += bytes;
                got[static_cast<size_t>(move.to)] += bytes;
                cost.moved += bytes;
            }
        }
        for (size_t m = 0; m < members_.size(); ++m) cost.link = std::max({cost.link, sent[m], got[m]});
        for (const MemberExchanges& member : members_)
            cost.scratch =
                std::max(cost.scratch, member.most_kept(static_cast<size_t>(collective.first_round),
                                                        static_cast<size_t>(collective.rounds)));
        return cost;
    }

  private:
    int64_t bytes_of(const Move& move, size_t round) const {
        const auto from = static_cast<size_t>(move.from);
        const ir::ValueId value = members_[from].by_round[round]->inputs[static_cast<size_t>(move.input)];
        return row_bytes(lowered_.graphs[from], value);
    }

    const LoweredGraphs& lowered_;
    std::vector<MemberExchanges> members_;
};

}  // namespace

std::vector<Cost> costs(const LoweredGraphs& lowered) {
    const Counter counter(lowered);
    std::vector<Cost> costs;
    for (const Lowered& collective : lowered.collectives) costs.push_back(counter.count(collective));
    return costs;
}

}  // namespace plait::collectives
