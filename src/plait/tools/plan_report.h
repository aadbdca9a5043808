#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/engine/prepared.h"

namespace plait::tools {

// What a member of a plan would hold, bytes.
struct MemberPlan {
    std::string device;
    double share = 1;      // of the model, as it was asked for; all members' sum is 1
    int64_t weights = 0;   // all it reads, wherever they are kept
    int64_t mirrored = 0;  // of those, bytes that another member holds too
    int64_t mapped = 0;    // of the weights, used in place from the file's pages
    int64_t state = 0;
    int64_t compute = 0;
    int64_t free = 0;    // what its memory has left beside what other members in it take
    std::string memory;  // its name: members in one memory share what is free

    int64_t taken() const { return weights - mapped + state + compute; }
    bool fits() const { return taken() <= free; }
};

// A state group's pools, over all members.
struct StateGroupPlan {
    std::string name;
    int64_t window = 0;  // 0: the whole context
    int64_t pages = 0;
    int64_t page_tokens = 0;
    int64_t bytes = 0;
};

// How many rows a step has.
struct StepRows {
    int64_t tokens = 1;
    int64_t outputs = 1;  // rows with logits
};

// What collectives cost in one step, bytes unless said otherwise.
struct CollectiveTotals {
    int64_t count = 0;
    int64_t rounds = 0;   // waits of all members for each other
    int64_t payload = 0;  // what a member puts in
    int64_t link = 0;     // through the busiest member's link, one way
    int64_t moved = 0;    // between members, all together
    int64_t scratch = 0;  // of the collective that needs most
};

struct PlanReport {
    std::string architecture;
    int64_t context = 0;  // tokens
    std::string context_note;
    std::string mode;  // of several members: "tensor", "row"
    std::string shares_note;
    std::vector<MemberPlan> members;
    std::vector<StateGroupPlan> groups;
    std::vector<device::CollectiveDescription> collectives;  // of every step, in order
    StepRows prompt;    // of a full prompt micro-batch; one token is decoded with one row of each
    int64_t width = 0;  // of the value that layers hand on
    int64_t programs = 0;
    int64_t weights_without_reader = 0;
};

// From a compiled model; reads no weight.
PlanReport plan_report(const engine::Prepared& prepared);

// Of one collective, and of all, in a step of so many rows.
CollectiveTotals cost_of(const device::CollectiveDescription& collective, const StepRows& rows);
CollectiveTotals total_cost(const PlanReport& report, const StepRows& rows);

// The table for people: one line per member, then notes, every collective, and what layers dealt to the
// members one after the other (layer mode) would exchange instead.
std::string plan_text(const PlanReport& report);
// {"members":[{"device","weights_bytes","mirrored_bytes","kv_bytes","compute_bytes",..}],"state_groups":[..],
// "collectives_per_step","collective_bytes_per_token","collectives":[{"kind","after","bytes","link_bytes",..}],
// ..}: bytes of a collective are of one token, `bytes` what one member puts in and `link_bytes` what goes
// through the busiest member's link one way; keys that begin with prompt_ are of a full micro-batch.
std::string plan_json(const PlanReport& report);

// Checks each member against its budget in bytes, in order; a missing or empty list checks nothing. Throws
// Error naming the first member that does not fit, by how much.
void check_budgets(const PlanReport& report, const std::vector<int64_t>& budgets);

}  // namespace plait::tools
