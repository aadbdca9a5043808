#pragma once

#include <memory>
#include <vector>

#include "plait/device/device.h"

namespace plait::engine {

// A device that is not here: it answers whatever can be said from its description, as another device of this
// build would in its place, and refuses with an Error what needs the device itself: memory and streams.
class PlanOnlyDevice : public device::Device {
  public:
    PlanOnlyDevice(std::unique_ptr<device::Device> like, device::DeviceDescription description);

    const device::DeviceDescription& describe() const override { return description_; }
    std::vector<int> choose_layouts(std::span<const ir::Graph* const> graphs, size_t weight_count) override {
        return like_->choose_layouts(graphs, weight_count);
    }
    device::BufferType& buffer_type(int index) override { return *buffer_types_[static_cast<size_t>(index)]; }
    std::unique_ptr<device::Program> compile(const ir::Graph& graph, std::span<const int> layouts) override {
        return like_->compile(graph, layouts);
    }
    bool can_embed(device::CommunicatorKind kind) const override;
    void join(device::Communicator& communicator, int member) override { like_->join(communicator, member); }
    std::unique_ptr<device::Stream> make_stream() override;
    std::unique_ptr<device::Event> make_event() override;

  private:
    std::unique_ptr<device::Device> like_;
    device::DeviceDescription description_;
    std::vector<std::unique_ptr<device::BufferType>> buffer_types_;
};

}  // namespace plait::engine
