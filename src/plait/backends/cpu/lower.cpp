#include "plait/backends/cpu/lower.h"

#include <algorithm>
#include <map>

#include "plait/backends/cpu/memory.h"
#include "plait/plan/storage.h"

namespace plait::backends::cpu {
namespace {

constexpr int64_t kNotScratch = -1;

bool has(std::span<const int32_t> storages, int32_t storage) {
    return std::ranges::find(storages, storage) != storages.end();
}

bool meet(std::span<const int32_t> a, std::span<const int32_t> b) {
    return std::ranges::any_of(a, [&](int32_t storage) { return has(b, storage); });
}

class Lowering {
  public:
    Lowering(const ir::Graph& graph, const device::DeviceDescription& device, std::span<const Kernel> kernels,
             std::span<const int> layouts)
        : graph_(graph), device_(device), kernels_(kernels), layouts_(layouts), homes_(graph) {}

    Lowered run() {
        size_storages();
        for (const ir::Node& node : graph_.nodes()) lower_node(node);
        do_by_everybody();
        assign_scratch();
        return split();
    }

  private:
    // A step before scratch has offsets: until then storage numbers stand in their place.
    struct Draft {
        Step step;
        plan::WorkStep work;
        const ir::Node* host_action = nullptr;
    };

    void size_storages() {
        for (ir::ValueId root : homes_.roots()) {
            const bool in_scratch = homes_.in_scratch(storage_of(root));
            bytes_.push_back(in_scratch ? graph_.value(root).desc.bytes() + kOverRead : kNotScratch);
        }
    }

    int32_t storage_of(ir::ValueId id) const { return homes_.storage_of(id); }

    // Offsets are filled in by assign_scratch, which finds them by storage.
    Place place_of(ir::ValueId id) const {
        Place place = homes_.place_of(id);
        if (place.home == Home::scratch) place.offset = storage_of(id);
        return place;
    }

    const Kernel& choose_kernel(const ir::Node& node) const {
        return kernels_[static_cast<size_t>(device::supporting_row(device_, graph_, node, layouts_))];
    }

    void lower_node(const ir::Node& node) {
        // A tap is a view as well.
        if (ir::op_is_host_action(node.op)) return lower_host_action(node);
        if (ir::op_is_view(node.op)) return;
        const Kernel& kernel = choose_kernel(node);
        if (kernel.values != nullptr && follow(node, kernel)) return;
        const int32_t quantised = kernel.activation == ActivationFormat::q8 ? quantise(node.inputs[0]) : -1;
        Draft draft;
        draft.step = step_of(node, kernel);
        for (ir::ValueId id : node.inputs) draft.work.reads.push_back(storage_of(id));
        if (quantised >= 0) draft.work.reads.push_back(quantised);
        for (ir::ValueId id : node.outputs) draft.work.writes.push_back(storage_of(id));
        draft.step.quantised_offset = quantised;
        if (kernel.by_index) join_maker(node, draft);
        note_workspace(kernel, node);
        share(kernel, node, draft);
        drafts_.push_back(std::move(draft));
    }

    Step step_of(const ir::Node& node, const Kernel& kernel) const {
        Step step{.kernel = &kernel, .op = &node.op, .name = node.name};
        for (ir::ValueId id : node.inputs) step.inputs.push_back(place_of(id));
        for (ir::ValueId id : node.outputs) step.outputs.push_back(place_of(id));
        return step;
    }

    // --- steps that go along with others

    static constexpr size_t kNobody = SIZE_MAX;

    // The draft that writes a storage.
    size_t maker_of(int32_t storage) const {
        const auto found = std::ranges::find_if(
            drafts_, [&](const Draft& draft) { return has(draft.work.writes, storage); });
        return found == drafts_.end() ? kNobody : static_cast<size_t>(found - drafts_.begin());
    }

    std::vector<plan::WorkStep> work_of_drafts() const {
        std::vector<plan::WorkStep> work;
        for (const Draft& draft : drafts_) work.push_back(draft.work);
        return work;
    }

    static bool writes(const Step& step, int32_t storage) {
        const Place& output = step.outputs[0];
        return output.home == Home::scratch && output.offset == storage;
    }

    // The step behind all those that follow it.
    static Step& last_of(Step& step) { return step.followers.empty() ? step : last_of(step.followers[0]); }

    // Work on every value by itself needs no step of its own behind the product that makes the last of its
    // operands: it follows value by value. Another product that no barrier parts from that one is joined to
    // it.
    bool follow(const ir::Node& node, const Kernel& kernel) {
        size_t leader = kNobody;
        for (const ir::ValueId id : node.inputs) {
            const size_t maker = maker_of(storage_of(id));
            if (maker != kNobody && (leader == kNobody || maker > leader)) leader = maker;
        }
        if (leader == kNobody || !can_lead(drafts_[leader]) || !same_values(node)) return false;
        const Step& last = last_of(drafts_[leader].step);
        if (std::ranges::none_of(node.inputs, [&](ir::ValueId id) { return writes(last, storage_of(id)); }))
            return false;
        const size_t joined = joined_operand(node, leader);
        if (joined == leader) return false;
        if (joined != kNobody) {
            join(joined, leader);
            --leader;
        }
        Draft& draft = drafts_[leader];
        for (const ir::ValueId id : node.inputs) {
            if (!has(draft.work.writes, storage_of(id))) draft.work.reads.push_back(storage_of(id));
        }
        draft.work.writes.push_back(storage_of(node.outputs[0]));
        last_of(draft.step).followers.push_back(step_of(node, kernel));
        return true;
    }

    // What makes the first input index by index is joined to a step that reads it so.
    void join_maker(const ir::Node& node, Draft& draft) {
        const size_t maker = maker_of(storage_of(node.inputs[0]));
        if (maker == kNobody) return;
        Draft& first = drafts_[maker];
        if (first.host_action != nullptr || !first.step.kernel->by_index || first.step.twin_offset >= 0)
            return;
        for (size_t later = maker + 1; later < drafts_.size(); ++later) {
            const plan::WorkStep& work = drafts_[later].work;
            if (meet(work.reads, first.work.writes) || meet(work.writes, first.work.reads)) return;
        }
        std::erase(draft.work.reads, storage_of(node.inputs[0]));
        take(first, draft);
        drafts_.erase(drafts_.begin() + static_cast<std::ptrdiff_t>(maker));
    }

    // The first becomes a part of the second, run in front of it item by item.
    static void take(Draft& first, Draft& second) {
        second.work.reads.insert(second.work.reads.end(), first.work.reads.begin(), first.work.reads.end());
        second.work.writes.insert(second.work.writes.end(), first.work.writes.begin(),
                                  first.work.writes.end());
        second.step.joined.push_back(std::move(first.step));
    }

    static bool can_lead(const Draft& draft) {
        return draft.host_action == nullptr && draft.step.kernel->can_lead;
    }

    // Operands have the output's values, or the second is one row for all of its rows.
    bool same_values(const ir::Node& node) const {
        const ir::TensorDesc& output = graph_.value(node.outputs[0]).desc;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ir::TensorDesc& desc = graph_.value(node.inputs[i]).desc;
            const bool row = i == 1 && desc.shape.rank() == 1 && desc.shape.last() == output.shape.last();
            if (!row && (desc.shape != output.shape || desc.rows != output.rows)) return false;
        }
        return homes_.place_of(node.outputs[0]).home == Home::scratch;
    }

    // The draft of another operand that no barrier parts from the leader: kNobody if there is none, the
    // leader itself if there is one that cannot be joined to it.
    size_t joined_operand(const ir::Node& node, size_t leader) const {
        const std::vector<int32_t> interval_of = plan::intervals(work_of_drafts());
        size_t joined = kNobody;
        for (const ir::ValueId id : node.inputs) {
            const int32_t storage = storage_of(id);
            const size_t maker = maker_of(storage);
            if (maker == kNobody || maker == leader || interval_of[maker] != interval_of[leader]) continue;
            if (joined != kNobody || !can_join(maker, leader, storage)) return leader;
            joined = maker;
        }
        return joined;
    }

    // Whether the draft may run item by item in front of the leader, which comes later.
    bool can_join(size_t maker, size_t leader, int32_t storage) const {
        const Step &first = drafts_[maker].step, &second = drafts_[leader].step;
        if (!can_lead(drafts_[maker]) || !writes(first, storage)) return false;
        if (!first.followers.empty() || !first.joined.empty() || !second.joined.empty()) return false;
        return first.kernel->items == second.kernel->items && first.outputs[0].desc == second.outputs[0].desc;
    }

    // No draft between the two reads what the first writes, since no barrier parts them.
    void join(size_t maker, size_t leader) {
        take(drafts_[maker], drafts_[leader]);
        drafts_.erase(drafts_.begin() + static_cast<std::ptrdiff_t>(maker));
    }

    void lower_host_action(const ir::Node& node) {
        Draft draft;
        draft.host_action = &node;
        draft.work.host_action = true;
        for (ir::ValueId id : node.inputs) {
            draft.step.inputs.push_back(place_of(id));
            draft.work.reads.push_back(storage_of(id));
        }
        if (!ir::op_is_view(node.op)) {
            for (ir::ValueId id : node.outputs) {
                draft.step.outputs.push_back(place_of(id));
                draft.work.writes.push_back(storage_of(id));
            }
        }
        drafts_.push_back(std::move(draft));
    }

    // The storage of the value's quantised twin. The first call for a value has it made: by the step that
    // makes the value if that can, else by a step of its own.
    int32_t quantise(ir::ValueId id) {
        const auto [known, is_new] =
            quantised_.try_emplace(storage_of(id), static_cast<int32_t>(bytes_.size()));
        if (!is_new) return known->second;
        const ir::Value& value = graph_.value(id);
        bytes_.push_back(quantised_bytes(value.desc.row_count() * value.desc.shape.last()) + kOverRead);
        if (!quantise_where_made(storage_of(id), known->second)) add_quantising_step(id, known->second);
        return known->second;
    }

    bool quantise_where_made(int32_t storage, int32_t twin) {
        const size_t maker = maker_of(storage);
        if (maker == kNobody || drafts_[maker].host_action != nullptr) return false;
        Draft& draft = drafts_[maker];
        for (Step* step = &draft.step; step != nullptr;
             step = step->followers.empty() ? nullptr : &step->followers[0]) {
            if (!writes(*step, storage) || !quantise_here(draft.step, *step)) continue;
            step->twin_offset = twin;
            draft.work.writes.push_back(twin);
            return true;
        }
        return false;
    }

    // Whether a step, or one that follows it, writes its output in stretches that can be quantised.
    static bool quantise_here(Step& leader, const Step& step) {
        const ir::TensorDesc& output = step.outputs[0].desc;
        if (leader.kernel->can_lead) return output.shape.last() % kQuantisedBlock == 0;
        if (leader.kernel->stretch == nullptr) return false;
        std::vector<ir::TensorDesc> inputs;
        for (const Place& place : leader.inputs) inputs.push_back(place.desc);
        const int64_t stretch = leader.kernel->stretch(*leader.op, inputs, output);
        if (stretch == kNoStretch || stretch % kQuantisedBlock != 0) return false;
        leader.stretch = stretch;
        return true;
    }

    void add_quantising_step(ir::ValueId id, int32_t twin) {
        Draft draft;
        draft.step = {.kernel = &quantise_kernel(),
                      .name = graph_.value(id).name + " quantised",
                      .inputs = {place_of(id)}};
        draft.work = {{storage_of(id)}, {twin}, false};
        draft.step.quantised_offset = twin;
        drafts_.push_back(std::move(draft));
    }

    void note_workspace(const Kernel& kernel, const ir::Node& node) {
        if (kernel.workspace_bytes == nullptr) return;
        const auto descs = graph_.input_descs(node);
        workspace_bytes_ = std::max(workspace_bytes_, kernel.workspace_bytes(node.op, descs));
    }

    void share(const Kernel& kernel, const ir::Node& node, Draft& draft) {
        if (kernel.shared == nullptr) return;
        const auto descs = graph_.input_descs(node);
        draft.step.shared = kernel.shared(node.op, descs, graph_.groups(), device_.workers);
        const auto storage = static_cast<int32_t>(bytes_.size());
        draft.step.shared_offset = storage;
        bytes_.push_back(draft.step.shared.bytes);
        draft.work.writes.push_back(storage);
    }

    // --- work that every worker does for itself when there are few tokens

    // Steps that alone stand between two barriers are done so, and the barrier behind them is not needed
    // then.
    void do_by_everybody() {
        const std::vector<int32_t> interval_of = plan::intervals(work_of_drafts());
        for (size_t begin = 0, end = 0; begin < drafts_.size(); begin = end) {
            const auto of_interval = [&](size_t i) {
                return i < drafts_.size() && interval_of[i] == interval_of[begin];
            };
            bool all = true;
            for (end = begin; of_interval(end); ++end) all = all && can_be_everybodys(drafts_[end]);
            if (!all || end == drafts_.size()) continue;
            for (size_t i = begin; i < end; ++i) make_everybodys(i, drafts_[end]);
            drafts_[end].step.no_barrier_if_few = true;
        }
    }

    bool can_be_everybodys(const Draft& draft) const {
        if (draft.host_action != nullptr || !draft.step.kernel->by_everybody) return false;
        const Place& output = draft.step.outputs[0];
        if (output.home != Home::scratch || output.desc.rows == ir::Rows::fixed) return false;
        return std::ranges::none_of(drafts_, [&](const Draft& other) {
            return other.host_action != nullptr && meet(other.work.reads, draft.work.writes);
        });
    }

    // `next`, which no barrier parts from it then, may not write over what it reads.
    void make_everybodys(size_t at, Draft& next) {
        Step& step = drafts_[at].step;
        step.by_everybody = true;
        const ir::TensorDesc& desc = step.outputs[0].desc;
        const int64_t values = desc.shape.elements() / desc.shape[0] * std::min(kFewTokens, desc.shape[0]);
        const std::vector<int32_t> written = drafts_[at].work.writes;
        for (const int32_t storage : written) {
            const bool twin = storage == step.twin_offset;
            const int64_t bytes = twin ? quantised_bytes(values) : values * int64_t{sizeof(float)};
            own_copy(storage, (bytes + kOverRead + kAlignment - 1) / kAlignment * kAlignment, values);
        }
        next.work.reads.insert(next.work.reads.end(), drafts_[at].work.reads.begin(),
                               drafts_[at].work.reads.end());
    }

    void own_copy(int32_t storage, int64_t bytes, int64_t values) {
        const auto own = static_cast<int32_t>(bytes_.size());
        bytes_.push_back(bytes * device_.workers);
        for (Draft& draft : drafts_) {
            for (auto* list : {&draft.work.reads, &draft.work.writes}) {
                if (!has(*list, storage)) continue;
                list->push_back(own);
                draft.step.own_copies.push_back({storage, own, bytes, values});
            }
        }
    }

    void assign_scratch() {
        const std::vector<plan::WorkStep> work = work_of_drafts();
        const std::vector<int32_t> interval_of = plan::intervals(work);
        const plan::ScratchPlan scratch = plan::plan_scratch(work, interval_of, bytes_, kAlignment);
        scratch_bytes_ = scratch.bytes;
        for (size_t i = 0; i < drafts_.size(); ++i) {
            settle(drafts_[i].step, scratch);
            drafts_[i].step.barrier_before = i > 0 && interval_of[i] != interval_of[i - 1];
        }
    }

    // Storage numbers become offsets.
    static void settle(Step& step, const plan::ScratchPlan& scratch) {
        const auto settle_offset = [&](int64_t& offset) {
            if (offset >= 0) offset = scratch.offset[static_cast<size_t>(offset)];
        };
        for (auto* places : {&step.inputs, &step.outputs}) {
            for (Place& place : *places)
                if (place.home == Home::scratch) settle_offset(place.offset);
        }
        for (int64_t* offset : {&step.quantised_offset, &step.twin_offset, &step.shared_offset})
            settle_offset(*offset);
        for (OwnCopy& copy : step.own_copies) {
            settle_offset(copy.shared);
            settle_offset(copy.own);
        }
        for (auto* others : {&step.joined, &step.followers})
            for (Step& other : *others) settle(other, scratch);
    }

    Lowered split() {
        Lowered lowered{.scratch_bytes = scratch_bytes_, .workspace_bytes = workspace_bytes_};
        lowered.segments.emplace_back();
        for (Draft& draft : drafts_) {
            Segment& segment = lowered.segments.back();
            if (draft.host_action != nullptr) {
                segment.host_action = draft.host_action;
                segment.shown = std::move(draft.step.inputs);
                segment.received = std::move(draft.step.outputs);
                lowered.segments.emplace_back();
                continue;
            }
            if (segment.steps.empty()) draft.step.barrier_before = false;
            segment.steps.push_back(std::move(draft.step));
        }
        return lowered;
    }

    const ir::Graph& graph_;
    const device::DeviceDescription& device_;
    std::span<const Kernel> kernels_;
    std::span<const int> layouts_;
    const plan::ValueHomes homes_;
    std::vector<int64_t> bytes_;            // by storage: values first, then what only this device has
    std::map<int32_t, int32_t> quantised_;  // storage -> storage of its quantised twin
    std::vector<Draft> drafts_;
    int64_t scratch_bytes_ = 0;
    int64_t workspace_bytes_ = 0;
};

}  // namespace

Lowered lower(const ir::Graph& graph, const device::DeviceDescription& device,
              std::span<const Kernel> kernels, std::span<const int> layouts) {
    return Lowering(graph, device, kernels, layouts).run();
}

}  // namespace plait::backends::cpu
