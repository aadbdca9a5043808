#include "plait/plan/storage.h"

#include <algorithm>
#include <limits>

#include "plait/base/ensure.h"

namespace plait::plan {
namespace {

// The value whose storage `id` uses, or `id` itself.
ir::ValueId source_of(const ir::Graph& graph, ir::ValueId id) {
    const ir::Value& value = graph.value(id);
    if (value.producer < 0) return id;
    const ir::Node& node = graph.nodes()[static_cast<size_t>(value.producer)];
    if (ir::op_is_view(node.op)) return node.inputs[0];
    if (value.kind != ir::ValueKind::state) return id;
    for (ir::ValueId input : node.inputs) {
        const ir::Value& former = graph.value(input);
        if (former.kind == ir::ValueKind::state && former.index == value.index) return input;
    }
    ENSURE(false, "a version of state comes from a former one");
}

bool meet(std::span<const int32_t> a, std::span<const int32_t> b) {
    return std::ranges::find_first_of(a, b) != a.end();
}

void append(std::vector<int32_t>& to, std::span<const int32_t> more) {
    to.insert(to.end(), more.begin(), more.end());
}

struct Lifetime {
    int32_t storage = 0;
    int64_t bytes = 0;
    int32_t first = std::numeric_limits<int32_t>::max();
    int32_t last = -1;
    int64_t offset = 0;

    bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

std::vector<Lifetime> lifetimes(std::span<const WorkStep> steps, std::span<const int32_t> interval_of,
                                std::span<const int64_t> bytes) {
    std::vector<Lifetime> all(bytes.size());
    for (size_t s = 0; s < bytes.size(); ++s) {
        all[s].storage = static_cast<int32_t>(s);
        all[s].bytes = bytes[s];
    }
    for (size_t i = 0; i < steps.size(); ++i) {
        for (const auto* list : {&steps[i].reads, &steps[i].writes}) {
            for (int32_t storage : *list) {
                Lifetime& life = all[static_cast<size_t>(storage)];
                life.first = std::min(life.first, interval_of[i]);
                life.last = std::max(life.last, interval_of[i]);
            }
        }
    }
    std::erase_if(all, [](const Lifetime& life) { return life.bytes < 0 || life.last < 0; });
    return all;
}

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// The lowest offset at which `life` fits among `placed`, which is sorted by offset.
int64_t lowest_fit(const Lifetime& life, std::span<const Lifetime> placed, int64_t alignment) {
    int64_t offset = 0;
    for (const Lifetime& other : placed) {
        if (!life.overlaps(other)) continue;
        if (offset + life.bytes <= other.offset) break;
        offset = std::max(offset, round_up(other.offset + other.bytes, alignment));
    }
    return offset;
}

}  // namespace

ValueStorages value_storages(const ir::Graph& graph) {
    ValueStorages storages;
    storages.of_value.resize(graph.values().size());
    for (size_t id = 0; id < graph.values().size(); ++id) {
        const auto value = static_cast<ir::ValueId>(id);
        const ir::ValueId source = source_of(graph, value);
        if (source == value) {
            storages.of_value[id] = static_cast<int32_t>(storages.root.size());
            storages.root.push_back(value);
        } else {
            storages.of_value[id] = storages.of_value[static_cast<size_t>(source)];
        }
    }
    return storages;
}

ValueHomes::ValueHomes(const ir::Graph& graph)
    : graph_(graph), storages_(value_storages(graph)), output_of_(storages_.root.size(), -1) {
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
        output_of_[static_cast<size_t>(storage_of(graph.outputs()[i]))] = static_cast<int32_t>(i);
    }
}

bool ValueHomes::in_scratch(int32_t storage) const {
    const auto index = static_cast<size_t>(storage);
    return graph_.value(storages_.root[index]).kind == ir::ValueKind::activation && output_of_[index] < 0;
}

Place ValueHomes::place_of(ir::ValueId id) const {
    const ir::Value& value = graph_.value(id);
    switch (value.kind) {
        case ir::ValueKind::weight:
            return {value.desc, Home::weight, value.index};
        case ir::ValueKind::state:
            return {value.desc, Home::state, value.index};
        case ir::ValueKind::step_input:
            return {value.desc, Home::step_input, value.index};
        case ir::ValueKind::activation:
            break;
    }
    const int32_t output = output_of_[static_cast<size_t>(storage_of(id))];
    return output >= 0 ? Place{value.desc, Home::output, output} : Place{value.desc};
}

int32_t Intervals::add(const WorkStep& step) {
    const bool conflict =
        meet(written_, step.reads) || meet(written_, step.writes) || meet(read_, step.writes);
    if (current_ < 0 || conflict || step.alone || after_alone_) {
        ++current_;
        read_.clear();
        written_.clear();
    }
    after_alone_ = step.alone;
    extend(current_, step);
    return current_;
}

void Intervals::extend(int32_t interval, const WorkStep& more) {
    if (interval != current_) return;
    append(read_, more.reads);
    append(written_, more.writes);
}

std::vector<int32_t> intervals(std::span<const WorkStep> steps) {
    Intervals all;
    std::vector<int32_t> interval_of;
    for (const WorkStep& step : steps) interval_of.push_back(all.add(step));
    return interval_of;
}

ScratchPlan plan_scratch(std::span<const WorkStep> steps, std::span<const int32_t> interval_of,
                         std::span<const int64_t> bytes, int64_t alignment) {
    std::vector<Lifetime> lives = lifetimes(steps, interval_of, bytes);
    std::ranges::stable_sort(lives, [](const Lifetime& a, const Lifetime& b) { return a.bytes > b.bytes; });
    ScratchPlan plan;
    plan.offset.assign(bytes.size(), -1);
    std::vector<Lifetime> placed;
    for (Lifetime& life : lives) {
        life.offset = lowest_fit(life, placed, alignment);
        plan.offset[static_cast<size_t>(life.storage)] = life.offset;
        plan.bytes = std::max(plan.bytes, life.offset + life.bytes);
        const auto place = std::ranges::upper_bound(placed, life.offset, {}, &Lifetime::offset);
        placed.insert(place, life);
    }
    return plan;
}

}  // namespace plait::plan
