#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/ir/graph.h"

// Collectives made of what every device can do: hand values over, take values, and combine two.
namespace plait::collectives {

enum class Way : uint8_t {
    automatic,  // butterfly for reductions, direct for the rest
    direct,     // everybody gets everybody's term at once, and combines them in the members' order
    pairwise,   // the same, from one member at a time: N - 1 rounds
    butterfly,  // sums of pairs, then of pairs of pairs; a surplus over a power of two is folded in before
                // and out again afterwards: log2(N) rounds, and 2 for the surplus (Thakur et al. 2005)
};

const char* way_name(Way way);

// A value that goes from one member to another: input `input` of the exchange on member `from` to output
// `output` on member `to`.
struct Move {
    int from = 0;
    int input = 0;
    int to = 0;
    int output = 0;
    bool operator==(const Move&) const = default;
};

// The one value that every member shows at an exchange must be the same to the last bit.
struct Comparison {
    ir::TensorDesc desc;
    bool unlike = false;  // on all members; else among those of equal kernel signature
    bool operator==(const Comparison&) const = default;
};

// What happens at the members' exchanges of one id: values move, or are compared.
struct Round {
    std::vector<Move> moves;
    std::optional<Comparison> comparison;
};

// What became of one collective.
struct Lowered {
    Way way = Way::direct;  // the one it took
    int first_round = 0;
    int rounds = 0;
    int64_t row_bytes = 0;  // one row of the largest value that a member puts in
};

struct LoweredGraphs {
    std::vector<ir::Graph> graphs;
    std::vector<Round> rounds;         // by the exchanges' id; every graph has each, in order
    std::vector<Lowered> collectives;  // in the graphs' order
};

// Replaces the collectives of the members' graphs. Whatever the way, a reduction gives all members the same
// bits: the same terms, combined in the same order. A way that cannot do a collective leaves it to `direct`.
// ENSUREs that the graphs have the same collectives in the same order. Pure.
LoweredGraphs lower(std::span<const ir::Graph> graphs, Way way);

// Rounds that a reduction over so many members takes.
int rounds_of_reduction(Way way, int members);

}  // namespace plait::collectives
