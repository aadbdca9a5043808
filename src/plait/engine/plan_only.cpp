#include "plait/engine/plan_only.h"

#include <fmt/format.h>

#include "plait/base/error.h"

namespace plait::engine {
namespace {

[[noreturn]] void refuse(const std::string& device) {
    throw Error(
        fmt::format("{} is described only, nothing can run on it; plan is what it is good for", device));
}

class PlanOnlyBufferType : public device::BufferType {
  public:
    PlanOnlyBufferType(std::string device, device::BufferType& like)
        : device_(std::move(device)), like_(like) {}

    const device::BufferTypeDescription& describe() const override { return like_.describe(); }
    int64_t bytes(const device::StoredTensor& tensor) const override { return like_.bytes(tensor); }
    std::vector<int64_t> member_bytes(const device::StoredTensor& tensor) const override {
        return like_.member_bytes(tensor);
    }
    bool can_wrap(const device::StoredTensor& tensor, int64_t readable_behind) const override {
        return like_.can_wrap(tensor, readable_behind);
    }
    std::unique_ptr<device::Buffer> alloc(std::span<const device::StoredTensor>, device::Usage) override {
        refuse(device_);
    }
    std::unique_ptr<device::Buffer> wrap(std::span<const std::byte>, const device::StoredTensor&,
                                         int64_t) override {
        refuse(device_);
    }

  private:
    const std::string device_;
    device::BufferType& like_;
};

}  // namespace

PlanOnlyDevice::PlanOnlyDevice(std::unique_ptr<device::Device> like, device::DeviceDescription description)
    : like_(std::move(like)), description_(std::move(description)) {
    const auto types = static_cast<int>(description_.buffer_types.size());
    for (int type = 0; type < types; ++type)
        buffer_types_.push_back(
            std::make_unique<PlanOnlyBufferType>(description_.name, like_->buffer_type(type)));
}

bool PlanOnlyDevice::can_embed(device::CommunicatorKind kind) const {
    return like_->describe().kind == description_.kind && like_->can_embed(kind);
}

std::unique_ptr<device::Stream> PlanOnlyDevice::make_stream() { refuse(description_.name); }

std::unique_ptr<device::Event> PlanOnlyDevice::make_event() { refuse(description_.name); }

}  // namespace plait::engine
