#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/engine/prepared.h"

namespace plait::tools {

// What a member of a plan would hold, bytes.
struct MemberPlan {
    std::string device;
    int64_t weights = 0;   // all it reads, wherever they are kept
    int64_t mirrored = 0;  // of those, bytes that other members hold too
    int64_t mapped = 0;    // of the weights, used in place from the file's pages
    int64_t state = 0;
    int64_t compute = 0;
    int64_t free = 0;  // memory the device says is free

    int64_t taken() const { return weights - mapped + state + compute; }
};

// A state group's pools, the same on every member.
struct StateGroupPlan {
    std::string name;
    int64_t window = 0;  // 0: the whole context
    int64_t pages = 0;
    int64_t page_tokens = 0;
    int64_t bytes = 0;
};

struct PlanReport {
    std::string architecture;
    std::string context_note;
    std::vector<MemberPlan> members;
    std::vector<StateGroupPlan> groups;
    int64_t programs = 0;
    int64_t weights_without_reader = 0;
};

// From a compiled model; reads no weight.
PlanReport plan_report(const engine::Prepared& prepared);

// The table for people: one line per member, then notes.
std::string plan_text(const PlanReport& report);
// {"members":[{"device","weights_bytes","mirrored_bytes","kv_bytes","compute_bytes"}],"state_groups":[{"name",
// "window","pages","page_tokens","bytes"}],"collectives_per_step",...}
std::string plan_json(const PlanReport& report);

// Checks each member against its budget in bytes, in order; a missing or empty list checks nothing. Throws
// Error naming the first member that does not fit, by how much.
void check_budgets(const PlanReport& report, const std::vector<int64_t>& budgets);

}  // namespace plait::tools
