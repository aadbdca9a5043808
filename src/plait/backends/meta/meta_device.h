#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/backends/meta/memory.h"
#include "plait/base/lap_clock.h"
#include "plait/collectives/lower.h"
#include "plait/plan/shard.h"

namespace plait::backends::meta {

// Is shown every value on its way from one member to another, in order, and may change it or throw: for
// tests.
using OnMove = std::function<void(const collectives::Move& move, std::span<std::byte> value)>;

struct MetaOptions {
    std::string name;
    plan::CutOptions cut;  // a ratio for every member
    collectives::Way reduce = collectives::Way::automatic;
    bool by_rows = false;        // matrices alone are cut (plan/rows.h)
    int main = 0;                // the member that does everything else then
    bool check_members = false;  // a step fails when members differ in what they hold alike
    bool stepped = false;        // members never run their programs together, even if they can
    OnMove on_move;
};

// Where the time of a device's steps goes, as its stream sees it: from a first run until all members rest.
struct StepTimes {
    LapClock step_clock;
    LapClock exchange_clock;
    double steps = 0;  // seconds
    double exchanges = 0;
    int64_t runs = 0;
};

// Several devices as one: tensors are cut over the members, a graph becomes a graph for each, and where sums
// of terms are wanted the members exchange them.
class MetaDevice : public device::Device {
  public:
    MetaDevice(std::vector<std::unique_ptr<device::Device>> members, const MetaOptions& options);

    // memory_bytes is the sum over the members' memories, each counted once.
    const device::DeviceDescription& describe() const override { return description_; }
    device::Placement place_model(std::span<const ir::WeightSpec> weights,
                                  std::span<const ir::StateGroupSpec> groups) override;
    // Every member chooses for its own part.
    std::vector<int> choose_layouts(std::span<const ir::Graph* const> graphs, size_t weight_count) override;
    device::BufferType& buffer_type(int index) override { return *buffer_types_[static_cast<size_t>(index)]; }
    std::unique_ptr<device::Program> compile(const ir::Graph& graph, std::span<const int> layouts) override;
    std::unique_ptr<device::Stream> make_stream() override;
    std::unique_ptr<device::Event> make_event() override;
    // Where the host steps the members, an exchange is reducing, and adding up what came is computing.
    void time_runs(bool on) override;
    std::vector<device::RunTimes> run_times() const override;

  private:
    // Members whose programs can meet join a group, unless something is wanted that needs the host between.
    void form_group();

    plan::MemberGraphs shard(const ir::Graph& graph) const;
    // What the members run: with collectives where they run together, else with exchanges.
    std::vector<ir::Graph> member_graphs(const ir::Graph& graph) const;
    // The same with what belongs to it.
    struct Cut {
        std::vector<ir::Graph> graphs;
        std::vector<collectives::Round> rounds;  // of the exchanges
        std::vector<ir::Layout> outputs;
        std::vector<device::CollectiveDescription> collectives;
    };
    Cut cut(const ir::Graph& graph) const;

    const MetaOptions options_;
    collectives::Way way_;
    Members members_;
    device::DeviceDescription description_;
    bool alike_ = true;  // equal bits on equal inputs
    std::vector<std::unique_ptr<MetaBufferType>> buffer_types_;
    plan::Layouts placement_;
    std::vector<std::byte> staging_;
    StepTimes times_;
    int64_t largest_output_part_ = 0;  // of a member, over the programs compiled so far
};

}  // namespace plait::backends::meta
