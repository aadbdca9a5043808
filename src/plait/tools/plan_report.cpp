#include "plait/tools/plan_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "plait/base/error.h"

namespace plait::tools {
namespace {

double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string group_text(const StateGroupPlan& group) {
    const std::string reach =
        group.window == 0 ? "the whole context" : fmt::format("a window of {}", group.window);
    return fmt::format("cache {} keeps {}: {} pages of {} tokens, {:.1f} MiB\n", group.name, reach,
                       group.pages, group.page_tokens, mib(group.bytes));
}

}  // namespace

PlanReport plan_report(const engine::Prepared& prepared) {
    const device::DeviceDescription& device = prepared.device->describe();
    const engine::MemoryNeeds& memory = prepared.memory;
    PlanReport report{.architecture = prepared.model->summary().architecture,
                      .context_note = prepared.context_note,
                      .programs = static_cast<int64_t>(prepared.programs.size())};
    for (int layout : prepared.layouts) report.weights_without_reader += layout < 0;
    report.members.push_back({.device = device.name,
                              .weights = memory.weights + memory.mapped_weights,
                              .mapped = memory.mapped_weights,
                              .state = memory.state,
                              .compute = memory.compute,
                              .free = device.memory_bytes});
    for (size_t i = 0; i < prepared.pages.size(); ++i) {
        const ir::StateGroupSpec& group = prepared.model->state_groups()[i];
        report.groups.push_back({.name = group.name,
                                 .window = group.window,
                                 .pages = prepared.pages[i].pages,
                                 .page_tokens = prepared.pages[i].page_tokens,
                                 .bytes = prepared.group_bytes(i)});
    }
    return report;
}

std::string plan_text(const PlanReport& report) {
    std::string text =
        fmt::format("{}, {} programs, {}\n", report.architecture, report.programs, report.context_note);
    text += fmt::format("{:<12} {:>14} {:>14} {:>14} {:>14} {:>14}\n", "member", "weights MiB",
                        "of it in file", "cache MiB", "compute MiB", "free MiB");
    for (const MemberPlan& member : report.members) {
        text += fmt::format("{:<12} {:>14.1f} {:>14.1f} {:>14.1f} {:>14.1f} {:>14.1f}\n", member.device,
                            mib(member.weights), mib(member.mapped), mib(member.state), mib(member.compute),
                            mib(member.free));
    }
    if (report.groups.size() > 1)
        for (const StateGroupPlan& group : report.groups) text += group_text(group);
    if (report.weights_without_reader > 0) {
        text += fmt::format("{} weights are read by no program and take no memory\n",
                            report.weights_without_reader);
    }
    for (const MemberPlan& member : report.members) {
        if (member.taken() <= member.free) continue;
        text += fmt::format("{} does not fit: it would take {:.1f} MiB more than is free\n", member.device,
                            mib(member.taken() - member.free));
    }
    text += "no collectives: one member computes everything\n";
    return text;
}

std::string plan_json(const PlanReport& report) {
    nlohmann::json members = nlohmann::json::array();
    for (const MemberPlan& member : report.members) {
        members.push_back({{"device", member.device},
                           {"weights_bytes", member.weights},
                           {"mirrored_bytes", member.mirrored},
                           {"mapped_bytes", member.mapped},
                           {"kv_bytes", member.state},
                           {"compute_bytes", member.compute},
                           {"free_bytes", member.free},
                           {"fits", member.taken() <= member.free}});
    }
    nlohmann::json groups = nlohmann::json::array();
    for (const StateGroupPlan& group : report.groups) {
        groups.push_back({{"name", group.name},
                          {"window", group.window},
                          {"pages", group.pages},
                          {"page_tokens", group.page_tokens},
                          {"bytes", group.bytes}});
    }
    const nlohmann::json document = {{"members", members},
                                     {"state_groups", groups},
                                     {"collectives_per_step", 0},
                                     {"collective_bytes_per_token", 0},
                                     {"collectives", nlohmann::json::array()}};
    return document.dump(2);
}

void check_budgets(const PlanReport& report, const std::vector<int64_t>& budgets) {
    if (budgets.empty()) return;
    if (budgets.size() != report.members.size()) {
        throw Error(
            fmt::format("--budget names {} members, the plan has {}", budgets.size(), report.members.size()));
    }
    for (size_t i = 0; i < budgets.size(); ++i) {
        const MemberPlan& member = report.members[i];
        if (member.taken() <= budgets[i]) continue;
        throw Error(
            fmt::format("{} would take {} bytes, {} more than its budget of {}; a smaller context (-c) or "
                        "micro-batch (-ub) needs less",
                        member.device, member.taken(), member.taken() - budgets[i], budgets[i]));
    }
}

}  // namespace plait::tools
