#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/graph.h"

// Memory planning for leaf devices: which values share storage, which steps may run between two barriers, and
// where each intermediate value lies in the scratch arena. Pure functions.
namespace plait::plan {

// Which storage each value of a graph uses. Views and new versions of state use that of the value they come
// from.
struct ValueStorages {
    std::vector<int32_t> of_value;  // by ValueId: storage number
    std::vector<ir::ValueId> root;  // by storage number: the value that owns it
};
ValueStorages value_storages(const ir::Graph& graph);

// What memory an operand lies in once a program is bound.
enum class Home : uint8_t { scratch, weight, state, step_input, output };

struct Place {
    ir::TensorDesc desc;
    Home home = Home::scratch;
    int32_t index = 0;   // weight, state, ir::StepInput or output
    int64_t offset = 0;  // in scratch
};

// Where the values of a graph belong: those it outputs in the slot's outputs, what nodes make otherwise in
// scratch.
class ValueHomes {
  public:
    explicit ValueHomes(const ir::Graph& graph);

    int32_t storage_of(ir::ValueId id) const { return storages_.of_value[static_cast<size_t>(id)]; }
    std::span<const ir::ValueId> roots() const { return storages_.root; }
    bool in_scratch(int32_t storage) const;
    // Without the offset, which follows from plan_scratch().
    Place place_of(ir::ValueId id) const;

  private:
    const ir::Graph& graph_;
    const ValueStorages storages_;
    std::vector<int32_t> output_of_;  // by storage: which of the graph's outputs it is, or -1
};

// One unit of work as memory planning sees it: storage numbers it reads and writes. Nothing else runs beside
// what is done alone: by the host between two segments, or by several members together.
struct WorkStep {
    std::vector<int32_t> reads;
    std::vector<int32_t> writes;
    bool alone = false;
};

// Groups consecutive steps into intervals: steps of one interval depend on nothing written in it and write
// nothing that it reads or writes, so they may run in any order or at once. What is done alone has an
// interval of its own.
class Intervals {
  public:
    // The interval of the next step, counted from 0.
    int32_t add(const WorkStep& step);
    // A step of that interval reads and writes more, which must not be in the way of any other step.
    void extend(int32_t interval, const WorkStep& more);

  private:
    int32_t current_ = -1;
    bool after_alone_ = false;
    // Storages of the current interval; few, so they are searched.
    std::vector<int32_t> read_;
    std::vector<int32_t> written_;
};

// Each step's interval.
std::vector<int32_t> intervals(std::span<const WorkStep> steps);

struct ScratchPlan {
    std::vector<int64_t> offset;  // by storage number; -1 for storages that are not planned
    int64_t bytes = 0;            // of the whole arena
};

// Places storages of `bytes[storage]` bytes (negative: not in scratch) so that two which are alive in one
// interval never overlap; offsets are multiples of `alignment`. Largest first, each at the lowest offset that
// is free while it lives (Pisarchyk and Lee 2020, greedy by size).
ScratchPlan plan_scratch(std::span<const WorkStep> steps, std::span<const int32_t> interval_of,
                         std::span<const int64_t> bytes, int64_t alignment);

}  // namespace plait::plan
