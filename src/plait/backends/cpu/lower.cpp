#include "plait/backends/cpu/lower.h"

#include <algorithm>
#include <map>

#include "plait/backends/cpu/by_everybody.h"
#include "plait/backends/cpu/follow.h"
#include "plait/backends/cpu/kernels/meetings.h"
#include "plait/backends/cpu/memory.h"
#include "plait/backends/cpu/prepare_meetings.h"
#include "plait/base/ensure.h"
#include "plait/plan/storage.h"

namespace plait::backends::cpu {
namespace {

constexpr int64_t kNotScratch = -1;

class Lowering {
  public:
    Lowering(const ir::Graph& graph, const device::DeviceDescription& device, std::span<const Kernel> kernels,
             std::span<const int> layouts, bool meets)
        : graph_(graph),
          device_(device),
          kernels_(kernels),
          layouts_(layouts),
          meets_(meets),
          homes_(graph) {}

    Lowered run() {
        size_storages();
        for (const ir::Node& node : graph_.nodes()) lower_node(node);
        std::vector<Draft> drafts = drafts_.take();
        do_by_everybody(drafts, bytes_, device_.workers);
        prepare_meetings(drafts);
        assign_scratch(drafts);
        return split(drafts);
    }

  private:
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
        if (meets_ && ir::op_is_collective(node.op)) return lower_meeting(node);
        const Kernel& kernel = choose_kernel(node);
        Draft draft = draft_of(node, kernel);
        if (follow(drafts_, draft)) return;
        if (kernel.activation == ActivationFormat::q8) {
            draft.step.quantised_offset = quantise(node.inputs[0]);
            draft.work.reads.push_back(static_cast<int32_t>(draft.step.quantised_offset));
        }
        note_workspace(kernel, node);
        share(kernel, node, draft);
        drafts_.add(std::move(draft));
    }

    Draft draft_of(const ir::Node& node, const Kernel& kernel) const {
        Draft draft;
        draft.step = {.kernel = &kernel, .op = &node.op, .name = node.name};
        for (ir::ValueId id : node.inputs) {
            draft.step.inputs.push_back(place_of(id));
            draft.work.reads.push_back(storage_of(id));
        }
        for (ir::ValueId id : node.outputs) {
            draft.step.outputs.push_back(place_of(id));
            draft.work.writes.push_back(storage_of(id));
        }
        return draft;
    }

    void lower_host_action(const ir::Node& node) {
        Draft draft;
        draft.host_action = &node;
        draft.work.alone = true;
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
        drafts_.add(std::move(draft));
    }

    void lower_meeting(const ir::Node& node) {
        Draft draft = draft_of(node, meeting_kernel(node.op));
        draft.step.meets = true;
        draft.work.alone = true;
        drafts_.add(std::move(draft));
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
        const size_t maker = drafts_.maker_of(storage);
        if (maker == Drafts::kNobody || drafts_[maker].work.alone) return false;
        Step& leader = drafts_[maker].step;
        for (Step* step = &leader; step != nullptr;
             step = step->followers.empty() ? nullptr : &step->followers[0]) {
            if (step->outputs[0].home != Home::scratch || step->outputs[0].offset != storage) continue;
            if (!quantise_here(leader, *step)) continue;
            step->twin_offset = twin;
            drafts_.extend(maker, {.writes = {twin}});
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
        drafts_.add(std::move(draft));
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

    void assign_scratch(std::vector<Draft>& drafts) {
        std::vector<plan::WorkStep> work;
        std::vector<int32_t> interval_of;
        for (Draft& draft : drafts) {
            work.push_back(draft.work);
            interval_of.push_back(draft.interval);
        }
        ENSURE(interval_of == plan::intervals(work), "parts of steps move no barrier");
        const plan::ScratchPlan scratch = plan::plan_scratch(work, interval_of, bytes_, kAlignment);
        scratch_bytes_ = scratch.bytes;
        for (size_t i = 0; i < drafts.size(); ++i) {
            settle(drafts[i].step, scratch);
            drafts[i].step.barrier_before = i > 0 && interval_of[i] != interval_of[i - 1];
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
        for (auto* others : {&step.joined, &step.followers, &step.head_followers})
            for (Step& other : *others) settle(other, scratch);
    }

    Lowered split(std::vector<Draft>& drafts) const {
        Lowered lowered{.scratch_bytes = scratch_bytes_, .workspace_bytes = workspace_bytes_};
        lowered.segments.emplace_back();
        for (Draft& draft : drafts) {
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
    const bool meets_;
    const plan::ValueHomes homes_;
    std::vector<int64_t> bytes_;            // by storage: values first, then what only this device has
    std::map<int32_t, int32_t> quantised_;  // storage -> storage of its quantised twin
    Drafts drafts_;
    int64_t scratch_bytes_ = 0;
    int64_t workspace_bytes_ = 0;
};

}  // namespace

Lowered lower(const ir::Graph& graph, const device::DeviceDescription& device,
              std::span<const Kernel> kernels, std::span<const int> layouts, bool meets) {
    return Lowering(graph, device, kernels, layouts, meets).run();
}

}  // namespace plait::backends::cpu
