#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plait/ir/graph.h"
#include "plait/ir/ops/shard_rules.h"
#include "plait/plan/cut.h"

// One graph into one graph per member.
namespace plait::plan {

// A node at which the members exchange values, as a plan shows it.
struct CollectiveUse {
    ir::Op op;
    std::string after;    // the node whose result is exchanged
    ir::TensorDesc desc;  // of one member's term or, of pieces that are gathered, of the whole
};

struct MemberGraphs {
    std::vector<ir::Graph> graphs;    // by member; a member without a part of a value has no node for it
    std::vector<ir::Layout> outputs;  // of the graph's outputs
    std::vector<CollectiveUse> collectives;  // in order; every member has a node for each
    // Values that every member has whole, and with the same bits among members of equal kernel signature: by
    // member, its id in the member's graph.
    std::vector<std::vector<ir::ValueId>> mirrored;
};

// How an op behaves on operands that are spread over members: ir::op_shard, or what a test has in its place.
using ShardRule = std::function<ir::ShardAnswer<ir::Op>(const ir::Op&, const ir::ShardQuery&)>;

struct ShardOptions {
    // A node CheckEqual behind every collective and, where terms are added to a sum, behind these: so every
    // half layer's result is checked. They do not count as collectives.
    bool check_members = false;
    // The members give equal bits on equal inputs. Where they do not, what an op decides by is taken from the
    // first member and handed to all.
    bool alike = true;
    ShardRule rule = ir::op_shard;
};

// Cuts a graph for members that hold weights and state as the layouts say. What each op does with cut
// operands is its rule (ir/shard_rule.h); sums of terms are reduced where somebody needs them whole, and no
// earlier. Weights, state and step inputs keep their indices; a member has no value for those of which it
// holds nothing. Throws Error naming node and layouts for a combination that no rule covers. Pure.
MemberGraphs shard(const ir::Graph& graph, const Layouts& layouts, int members,
                   const ShardOptions& options = {});

}  // namespace plait::plan
