#pragma once

#include "plait/plan/shard.h"

// The simple way to use several devices, kept for comparison with cutting whole layers: matrices are cut by
// output rows, everything else stays on one main member, which hands out every input and gathers every
// result.
namespace plait::plan {

// Where weights and state lie: rows of matrices on all members, by ratio; stacked experts, tables and the
// rest on the main member. ENSUREs that ratios are checked.
Layouts lay_out_rows(std::span<const ir::WeightSpec> weights, std::span<const ir::StateGroupSpec> groups,
                     std::span<const double> ratios, int main);

// One graph into one per member. Two collectives for each product with a matrix that is cut; what is handed
// out can be checked. Outputs are on the main member. Pure.
MemberGraphs shard_rows(const ir::Graph& graph, const Layouts& layouts, int members, int main,
                        const ShardOptions& options = {});

}  // namespace plait::plan
