#include "plait/models/blocks/builder.h"

#include <fmt/format.h>

#include "plait/base/ensure.h"

namespace plait::models {
namespace {

std::vector<ir::StepGroupLimits> group_limits(std::span<const StatePages> pages) {
    std::vector<ir::StepGroupLimits> limits;
    for (const StatePages& group : pages) limits.push_back({group.page_tokens, group.max_pages_per_sequence});
    return limits;
}

ir::TensorDesc state_desc(const ir::StateTensorSpec& tensor, const StatePages& pages) {
    return {tensor.type, {pages.pages, tensor.heads, pages.page_tokens, tensor.width}};
}

}  // namespace

Builder::Builder(const GraphOptions& options, std::span<const ir::WeightSpec> weights,
                 std::span<const ir::StateGroupSpec> groups)
    : taps_(options.taps),
      candidates_(options.candidates),
      weights_(weights),
      groups_(groups),
      graph_(options.capacity, group_limits(options.pages)) {
    ENSURE(options.pages.size() == groups.size(), "every state group has its pages");
    copy_pages(groups, options.pages);
}

void Builder::copy_pages(std::span<const ir::StateGroupSpec> groups, std::span<const StatePages> pages) {
    for (size_t group = 0; group < groups.size(); ++group) {
        std::vector<ir::ValueId> former;
        for (const ir::StateTensorSpec& tensor : groups[group].tensors) {
            const auto index = static_cast<int32_t>(states_.size() + former.size());
            former.push_back(graph_.state(index, tensor.name, state_desc(tensor, pages[group])));
        }
        const ir::CopyPages op{.group = static_cast<int32_t>(group)};
        const auto copied = graph_.add(op, groups[group].name + ".copy_pages", std::move(former));
        states_.insert(states_.end(), copied.begin(), copied.end());
    }
}

ir::ValueId Builder::weight(WeightIndex index) {
    return graph_.weight(index, weights_[static_cast<size_t>(index)]);
}

std::string Builder::node_name(WeightIndex index) const {
    constexpr std::string_view kSuffix = ".weight";
    const std::string& name = weights_[static_cast<size_t>(index)].name;
    return name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
}

ir::ValueId Builder::add(const ir::Op& op, std::string name, std::vector<ir::ValueId> inputs) {
    const auto outputs = add_all(op, std::move(name), std::move(inputs));
    ENSURE(outputs.size() == 1, "the op has one output");
    return outputs[0];
}

std::vector<ir::ValueId> Builder::add_all(const ir::Op& op, std::string name,
                                          std::vector<ir::ValueId> inputs) {
    return graph_.add(op, std::move(name), std::move(inputs));
}

StatePlace Builder::find_state(std::string_view name) const {
    StatePlace place;
    for (const ir::StateGroupSpec& group : groups_) {
        place.window = group.window;
        for (const ir::StateTensorSpec& tensor : group.tensors) {
            if (tensor.name == name) return place;
            ++place.index;
        }
        ++place.group;
    }
    ENSURE(false, name);
}

void Builder::write_state(const ir::Op& op, std::string name, ir::ValueId x, const StatePlace& place) {
    ir::ValueId& version = states_[static_cast<size_t>(place.index)];
    version = add(op, std::move(name), {x, version});
}

ir::ValueId Builder::tap(std::string name, ir::ValueId x) {
    return taps_ ? add(ir::Tap{.id = tap_count_++}, std::move(name), {x}) : x;
}

ir::Graph Builder::finish(ir::ValueId logits) && {
    std::vector<ir::ValueId> outputs{logits};
    if (candidates_ > 0)
        outputs.push_back(add(ir::SampleCandidates{.count = candidates_}, "candidates", {logits}));
    graph_.set_outputs(std::move(outputs));
    return std::move(graph_);
}

std::string layer_name(int64_t layer, std::string_view part) { return fmt::format("blk.{}.{}", layer, part); }

}  // namespace plait::models
