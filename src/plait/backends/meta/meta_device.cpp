#include "plait/backends/meta/meta_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "plait/backends/meta/program.h"
#include "plait/backends/meta/stream.h"
#include "plait/base/ensure.h"
#include "plait/collectives/cost.h"
#include "plait/plan/rows.h"

namespace plait::backends::meta {
namespace {

constexpr int kMembersChoose = 0;  // places among the buffer types

device::DeviceDescription describe(const Members& members, const std::string& name) {
    device::DeviceDescription whole{.name = name, .kind = "meta"};
    std::map<std::string, int64_t> memories;
    whole.workers = 0;
    for (const auto& device : members.devices) {
        const device::DeviceDescription& member = device->describe();
        whole.members.push_back(member);
        whole.signature += (whole.signature.empty() ? "" : " + ") + member.signature;
        whole.workers += member.workers;
        memories[member.memory] = std::max(memories[member.memory], member.memory_bytes);
    }
    for (const auto& [memory, bytes] : memories) whole.memory_bytes += bytes;
    whole.memory = name;
    whole.details = fmt::format("{} members", members.count());
    whole.rows = members.device(0).describe().rows;
    return whole;
}

std::vector<device::CollectiveDescription> described(std::span<const plan::CollectiveUse> uses,
                                                     const collectives::LoweredGraphs& lowered) {
    ENSURE(uses.size() == lowered.collectives.size(), "every collective is lowered");
    const std::vector<collectives::Cost> costs = collectives::costs(lowered);
    std::vector<device::CollectiveDescription> descriptions;
    for (size_t i = 0; i < uses.size(); ++i) {
        descriptions.push_back({.kind = ir::op_name(ir::op_id(uses[i].op)),
                                .after = uses[i].after,
                                .desc = uses[i].desc,
                                .way = collectives::way_name(lowered.collectives[i].way),
                                .rounds = lowered.collectives[i].rounds,
                                .payload = lowered.collectives[i].row_bytes,
                                .link = costs[i].link,
                                .moved = costs[i].moved,
                                .scratch = costs[i].scratch});
    }
    return descriptions;
}

// The answers of several members for a row of logits, which the host joins; nothing for other outputs.
std::optional<device::CollectiveDescription> described_merge(const ir::Graph& graph, ir::ValueId id,
                                                             const device::StoredTensor& stored) {
    const ir::Value& one = graph.value(id);
    if (one.producer < 0 || one.desc == stored.desc) return std::nullopt;
    const ir::Node& node = graph.nodes()[static_cast<size_t>(one.producer)];
    if (!std::holds_alternative<ir::SampleCandidates>(node.op)) return std::nullopt;
    device::CollectiveDescription merge{.kind = "merge_candidates",
                                        .after = graph.value(node.inputs[0]).name,
                                        .desc = stored.desc,
                                        .way = "host",
                                        .place = device::CollectivePlace::behind_programs,
                                        .rounds = 1,
                                        .payload = one.desc.slice_bytes(),
                                        .moved = stored.desc.slice_bytes()};
    merge.link = merge.payload;
    return merge;
}

// A split output is as long as the members' pieces together: of answers for slices, longer than one device's.
device::StoredTensor stored_output(const ir::Graph& graph, ir::ValueId id, const ir::Layout& layout) {
    device::StoredTensor stored(graph.value(id).desc, layout);
    if (layout.is(ir::LayoutKind::split)) stored.desc.shape[layout.axis] = layout.extent();
    return stored;
}

}  // namespace

MetaDevice::MetaDevice(std::vector<std::unique_ptr<device::Device>> members, const MetaOptions& options)
    : options_(options), way_(options.reduce), members_{.devices = std::move(members)} {
    ENSURE(options_.cut.members() == members_.count(), "every member has a ratio");
    description_ = meta::describe(members_, options_.name);
    alike_ = std::ranges::all_of(description_.members, [&](const device::DeviceDescription& member) {
        return member.signature == description_.members[0].signature;
    });
    form_group();
    for (const bool members_choose : {true, false}) {
        buffer_types_.push_back(std::make_unique<MetaBufferType>(members_, members_choose));
        description_.buffer_types.push_back(buffer_types_.back()->describe());
    }
}

// The group's order is that of the direct way, so that the bits are the same if the host steps the members.
void MetaDevice::form_group() {
    const bool can_meet = alike_ && std::ranges::all_of(members_.devices, [&](const auto& device) {
                              return device->can_embed(device::CommunicatorKind::local);
                          });
    if (!can_meet) return;
    if (way_ == collectives::Way::automatic) way_ = collectives::Way::direct;
    const bool host_between = options_.stepped || options_.check_members || options_.on_move != nullptr;
    if (way_ != collectives::Way::direct || host_between) return;
    members_.group = std::make_unique<collectives::local::LocalGroup>(members_.count());
    for (int m = 0; m < members_.count(); ++m) members_.device(m).join(*members_.group, m);
}

device::Placement MetaDevice::place_model(std::span<const ir::WeightSpec> weights,
                                          std::span<const ir::StateGroupSpec> groups) {
    placement_ = options_.by_rows ? plan::lay_out_rows(weights, groups, options_.cut.ratios, options_.main)
                                  : plan::lay_out(weights, groups, options_.cut);
    return {placement_.weights, placement_.state};
}

plan::MemberGraphs MetaDevice::shard(const ir::Graph& graph) const {
    if (options_.by_rows)
        return plan::shard_rows(graph, placement_, members_.count(), options_.main,
                                {.check_members = options_.check_members});
    return plan::shard(graph, placement_, members_.count(),
                       {.check_members = options_.check_members, .alike = alike_});
}

std::vector<ir::Graph> MetaDevice::member_graphs(const ir::Graph& graph) const {
    plan::MemberGraphs sharded = shard(graph);
    if (members_.group != nullptr) return std::move(sharded.graphs);
    return collectives::lower(sharded.graphs, way_).graphs;
}

MetaDevice::Cut MetaDevice::cut(const ir::Graph& graph) const {
    plan::MemberGraphs sharded = shard(graph);
    collectives::LoweredGraphs lowered = collectives::lower(sharded.graphs, way_);
    auto collectives = described(sharded.collectives, lowered);
    if (members_.group != nullptr) {
        for (device::CollectiveDescription& collective : collectives) {
            collective.place = device::CollectivePlace::inside_programs;
            collective.scratch = 0;  // terms are read where they are
        }
        // What was lowered only told of costs.
        return {std::move(sharded.graphs), {}, std::move(sharded.outputs), std::move(collectives)};
    }
    return {std::move(lowered.graphs), std::move(lowered.rounds), std::move(sharded.outputs),
            std::move(collectives)};
}

std::vector<int> MetaDevice::choose_layouts(std::span<const ir::Graph* const> graphs, size_t weight_count) {
    std::vector<std::vector<ir::Graph>> cuts;
    for (const ir::Graph* graph : graphs) cuts.push_back(member_graphs(*graph));
    std::vector<int> chosen(weight_count, -1);
    members_.layouts.clear();
    for (int m = 0; m < members_.count(); ++m) {
        std::vector<const ir::Graph*> own;
        for (const auto& members : cuts) own.push_back(&members[static_cast<size_t>(m)]);
        members_.layouts.push_back(members_.device(m).choose_layouts(own, weight_count));
        for (size_t weight = 0; weight < weight_count; ++weight) {
            if (members_.layouts.back()[weight] >= 0) chosen[weight] = kMembersChoose;
        }
    }
    return chosen;
}

std::unique_ptr<device::Program> MetaDevice::compile(const ir::Graph& graph, std::span<const int>) {
    Cut whole = cut(graph);
    std::vector<std::unique_ptr<device::Program>> programs;
    for (int m = 0; m < members_.count(); ++m) {
        const auto member = static_cast<size_t>(m);
        programs.push_back(members_.device(m).compile(whole.graphs[member], members_.layouts[member]));
    }
    std::vector<device::StoredTensor> outputs;
    for (size_t i = 0; i < whole.outputs.size(); ++i) {
        const ir::ValueId id = graph.outputs()[i];
        outputs.push_back(stored_output(graph, id, whole.outputs[i]));
        if (auto merge = described_merge(graph, id, outputs.back()))
            whole.collectives.push_back(std::move(*merge));
        for (int m = 0; m < members_.count(); ++m)
            largest_output_part_ = std::max(largest_output_part_, part_desc(outputs.back(), m).bytes());
    }
    return std::make_unique<MetaProgram>(std::move(programs), std::move(whole.rounds), std::move(outputs),
                                         std::move(whole.collectives), graph.capacity(), staging_);
}

std::unique_ptr<device::Stream> MetaDevice::make_stream() {
    return std::make_unique<MetaStream>(members_, options_, times_, largest_output_part_);
}

std::unique_ptr<device::Event> MetaDevice::make_event() { return std::make_unique<MetaEvent>(members_); }

void MetaDevice::time_runs(bool on) {
    for (const auto& device : members_.devices) device->time_runs(on);
    if (on) times_ = {};
    times_.step_clock.switch_to(on);
    times_.exchange_clock.switch_to(on);
}

std::vector<device::RunTimes> MetaDevice::run_times() const {
    std::vector<device::RunTimes> all;
    for (const auto& device : members_.devices) {
        const std::vector<device::RunTimes> own = device->run_times();
        if (own.empty()) return {};
        const double reduce = own[0].reduce + times_.exchanges;
        all.push_back({.compute = own[0].compute,
                       .reduce = reduce,
                       .wait = times_.steps - own[0].compute - reduce,
                       .runs = times_.runs});
    }
    return all;
}

}  // namespace plait::backends::meta
