#include "plait/tools/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plait/base/error.h"
#include "plait/engine/memory_fit.h"

namespace plait::tools {
namespace {

double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string group_text(const StateGroupPlan& group) {
    const std::string reach =
        group.window == 0 ? "the whole context" : fmt::format("a window of {}", group.window);
    return fmt::format("cache {} keeps {}: {} pages of {} tokens, {:.1f} MiB\n", group.name, reach,
                       group.pages, group.page_tokens, mib(group.bytes));
}

int64_t rows_in(const ir::TensorDesc& desc, const StepRows& rows) {
    switch (desc.rows) {
        case ir::Rows::fixed:
            return desc.shape[0];
        case ir::Rows::tokens:
            return rows.tokens;
        case ir::Rows::outputs:
            return rows.outputs;
    }
    return 0;
}

const char* rows_name(ir::Rows rows) {
    switch (rows) {
        case ir::Rows::fixed:
            return "fixed";
        case ir::Rows::tokens:
            return "tokens";
        case ir::Rows::outputs:
            return "outputs";
    }
    return "";
}

// What goes from member to member when each has layers of its own: the value between two layers.
struct LayerMode {
    int64_t waits = 0;  // per step
    int64_t bytes = 0;  // per token, over all links
};

LayerMode layer_mode(const PlanReport& report) {
    const auto handovers = static_cast<int64_t>(report.members.size()) - 1;
    return {handovers, handovers * report.width * int64_t{sizeof(float)}};
}

std::string member_lines(const PlanReport& report) {
    std::string text =
        fmt::format("{:<12} {:>7} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "member", "share %",
                    "weights MiB", "mirrored MiB", "in file MiB", "cache MiB", "compute MiB", "free MiB");
    for (const MemberPlan& member : report.members) {
        text += fmt::format("{:<12} {:>7.1f} {:>12.1f} {:>12.1f} {:>12.1f} {:>12.1f} {:>12.1f} {:>12.1f}\n",
                            member.device, 100 * member.share, mib(member.weights), mib(member.mirrored),
                            mib(member.mapped), mib(member.state), mib(member.compute), mib(member.free));
    }
    return text;
}

std::string fit_lines(const PlanReport& report) {
    std::string text;
    for (const MemberPlan& member : report.members) {
        if (member.fits()) continue;
        text += fmt::format("{} does not fit: it would take {:.1f} MiB more than is free\n", member.device,
                            mib(member.taken() - member.free));
    }
    return text;
}

std::string collective_line(const device::CollectiveDescription& collective) {
    const CollectiveTotals cost = cost_of(collective, {});
    return fmt::format("  {:<14} {:<28} {:>8} values per {:<7} {:>9} {:>11} {:>9}  {}, {} round{}\n",
                       collective.kind, collective.after, collective.desc.shape.last(),
                       collective.desc.rows == ir::Rows::outputs ? "output" : "token", cost.payload,
                       cost.link, cost.scratch, collective.way, collective.rounds,
                       collective.rounds == 1 ? "" : "s");
}

std::string totals_line(const CollectiveTotals& totals) {
    return fmt::format(
        "{} rounds; a member hands in {:.3f} MiB, {:.3f} MiB go through the busiest link, "
        "{:.3f} MiB of scratch\n",
        totals.rounds, mib(totals.payload), mib(totals.link), mib(totals.scratch));
}

std::string comparison(const PlanReport& report) {
    const CollectiveTotals decode = total_cost(report, {});
    const LayerMode layers = layer_mode(report);
    std::string text = fmt::format(
        "layer mode, for comparison (it cannot be run yet): {} wait{} per step instead of {}, {} bytes moved "
        "per "
        "token instead of {}",
        layers.waits, layers.waits == 1 ? "" : "s", decode.rounds, layers.bytes, decode.moved);
    if (layers.bytes > 0)
        text += fmt::format(" ({:.0f} times as many)",
                            static_cast<double>(decode.moved) / static_cast<double>(layers.bytes));
    return text + "; but one member at a time would work on a token\n";
}

std::string collectives_text(const PlanReport& report) {
    if (report.members.size() == 1) return "no collectives: one member computes everything\n";
    std::string text = fmt::format(
        "{} collectives per step, bytes of one token:\n  {:<14} {:<28} {:>27} {:>9} {:>11} {:>9}\n",
        report.collectives.size(), "kind", "after", "", "payload", "on the link", "scratch");
    for (const auto& collective : report.collectives) text += collective_line(collective);
    text += "a token decoded: " + totals_line(total_cost(report, {}));
    text += fmt::format("a prompt step of {} tokens: ", report.prompt.tokens) +
            totals_line(total_cost(report, report.prompt));
    return text + comparison(report);
}

nlohmann::json member_json(const MemberPlan& member) {
    return {{"device", member.device},         {"share", member.share},
            {"weights_bytes", member.weights}, {"mirrored_bytes", member.mirrored},
            {"mapped_bytes", member.mapped},   {"kv_bytes", member.state},
            {"compute_bytes", member.compute}, {"memory", member.memory},
            {"free_bytes", member.free},       {"fits", member.fits()}};
}

nlohmann::json collective_json(const device::CollectiveDescription& collective, const StepRows& prompt) {
    const CollectiveTotals one = cost_of(collective, {}), full = cost_of(collective, prompt);
    return {{"kind", collective.kind},
            {"after", collective.after},
            {"rows", rows_name(collective.desc.rows)},
            {"values", collective.desc.shape.last()},
            {"way", collective.way},
            {"rounds", collective.rounds},
            {"bytes", one.payload},
            {"link_bytes", one.link},
            {"moved_bytes", one.moved},
            {"scratch_bytes", one.scratch},
            {"prompt_bytes", full.payload},
            {"prompt_link_bytes", full.link},
            {"prompt_moved_bytes", full.moved},
            {"prompt_scratch_bytes", full.scratch}};
}

nlohmann::json totals_json(const CollectiveTotals& totals, const StepRows& rows) {
    return {{"tokens", rows.tokens},     {"rounds", totals.rounds},     {"bytes", totals.payload},
            {"link_bytes", totals.link}, {"moved_bytes", totals.moved}, {"scratch_bytes", totals.scratch}};
}

}  // namespace

PlanReport plan_report(const engine::Prepared& prepared) {
    const device::DeviceDescription& device = prepared.device->describe();
    const bool by_rows = prepared.options.split.mode == engine::SplitMode::row;
    PlanReport report{.architecture = prepared.model->summary().architecture,
                      .context = prepared.options.context,
                      .context_note = prepared.context_note,
                      .mode = by_rows ? "row" : "tensor",
                      .shares_note = prepared.shares_note,
                      .prompt = {prepared.ladder.back().tokens, 1},
                      .width = prepared.model->summary().width,
                      .programs = static_cast<int64_t>(prepared.programs.size())};
    for (int layout : prepared.layouts) report.weights_without_reader += layout < 0;
    for (size_t member = 0; member < prepared.members.size(); ++member) {
        const engine::MemoryNeeds& memory = prepared.members[member];
        report.members.push_back({.device = device.member(member).name,
                                  .share = prepared.shares[member],
                                  .weights = memory.all_weights(),
                                  .mirrored = memory.mirrored,
                                  .mapped = memory.mapped_weights,
                                  .state = memory.state,
                                  .compute = memory.compute,
                                  .free = engine::free_memory(prepared, member),
                                  .memory = device.member(member).memory});
    }
    for (size_t i = 0; i < prepared.pages.size(); ++i) {
        const ir::StateGroupSpec& group = prepared.model->state_groups()[i];
        report.groups.push_back({.name = group.name,
                                 .window = group.window,
                                 .pages = prepared.pages[i].pages,
                                 .page_tokens = prepared.pages[i].page_tokens,
                                 .bytes = prepared.group_bytes(i)});
    }
    // Programs differ in how many rows they have room for, not in what they do.
    const auto collectives = prepared.programs.front()->collectives();
    report.collectives.assign(collectives.begin(), collectives.end());
    return report;
}

CollectiveTotals cost_of(const device::CollectiveDescription& collective, const StepRows& rows) {
    const int64_t count = rows_in(collective.desc, rows);
    return {.count = 1,
            .rounds = collective.rounds,
            .payload = collective.payload * count,
            .link = collective.link * count,
            .moved = collective.moved * count,
            .scratch = collective.scratch * count};
}

CollectiveTotals total_cost(const PlanReport& report, const StepRows& rows) {
    CollectiveTotals totals;
    for (const auto& collective : report.collectives) {
        const CollectiveTotals cost = cost_of(collective, rows);
        totals.count += 1;
        totals.rounds += cost.rounds;
        totals.payload += cost.payload;
        totals.link += cost.link;
        totals.moved += cost.moved;
        totals.scratch = std::max(totals.scratch, cost.scratch);
    }
    return totals;
}

std::string plan_text(const PlanReport& report) {
    std::string text =
        fmt::format("{}, {} programs, {}\n", report.architecture, report.programs, report.context_note);
    if (report.members.size() > 1)
        text += fmt::format("{} mode over {} members, {}\n", report.mode, report.members.size(),
                            report.shares_note);
    text += member_lines(report);
    if (report.groups.size() > 1)
        for (const StateGroupPlan& group : report.groups) text += group_text(group);
    if (report.weights_without_reader > 0) {
        text += fmt::format("{} weights are read by no program and take no memory\n",
                            report.weights_without_reader);
    }
    return text + fit_lines(report) + collectives_text(report);
}

std::string plan_json(const PlanReport& report) {
    nlohmann::json members = nlohmann::json::array();
    for (const MemberPlan& member : report.members) members.push_back(member_json(member));
    nlohmann::json groups = nlohmann::json::array();
    for (const StateGroupPlan& group : report.groups) {
        groups.push_back({{"name", group.name},
                          {"window", group.window},
                          {"pages", group.pages},
                          {"page_tokens", group.page_tokens},
                          {"bytes", group.bytes}});
    }
    nlohmann::json collectives = nlohmann::json::array();
    for (const auto& collective : report.collectives)
        collectives.push_back(collective_json(collective, report.prompt));
    const CollectiveTotals decode = total_cost(report, {}), prompt = total_cost(report, report.prompt);
    const LayerMode layers = layer_mode(report);
    const nlohmann::json document = {
        {"members", members},
        {"context", report.context},
        {"state_groups", groups},
        {"collectives_per_step", decode.count},
        {"collective_bytes_per_token", decode.payload},
        {"collectives", collectives},
        {"decode", totals_json(decode, {})},
        {"prompt", totals_json(prompt, report.prompt)},
        {"layer_mode", {{"waits", layers.waits}, {"moved_bytes_per_token", layers.bytes}}}};
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
