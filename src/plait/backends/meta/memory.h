#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plait/collectives/local/group.h"
#include "plait/device/device.h"

// Memory of a device that is made of several: every member holds its part of a tensor in a buffer of its own.
namespace plait::backends::meta {

// The layout id of weights, each stored as every member prefers.
inline constexpr const char* kMembersLayout = "members/1";

// What the buffer types and the device know of the members.
struct Members {
    std::unique_ptr<collectives::local::LocalGroup> group;  // of members that run their programs together
    std::vector<std::unique_ptr<device::Device>> devices;
    std::vector<std::vector<int>> layouts;  // by member and weight: its buffer type; -1: it does not have it

    int count() const { return static_cast<int>(devices.size()); }
    device::Device& device(int member) const { return *devices[static_cast<size_t>(member)]; }
};

// A tensor's part on a member, as that member stores it; no elements where it has none.
ir::TensorDesc part_desc(const device::StoredTensor& tensor, int member);
bool has_part(const device::StoredTensor& tensor, int member);

// Either the members' plain rows or, with `members_choose`, for weights, what each chose for the weight.
class MetaBufferType : public device::BufferType {
  public:
    MetaBufferType(const Members& members, bool members_choose);

    const device::BufferTypeDescription& describe() const override { return description_; }
    int64_t bytes(const device::StoredTensor& tensor) const override;
    std::vector<int64_t> member_bytes(const device::StoredTensor& tensor) const override;
    using BufferType::alloc;
    std::unique_ptr<device::Buffer> alloc(std::span<const device::StoredTensor> tensors,
                                          device::Usage usage) override;
    // Every member must be able to use its part where it lies.
    std::unique_ptr<device::Buffer> wrap(std::span<const std::byte> host, const device::StoredTensor& tensor,
                                         int64_t readable_behind) override;
    bool can_wrap(const device::StoredTensor& tensor, int64_t readable_behind) const override;
    // One of every member that has a part.
    std::vector<device::ImageDescription> describe_images(const device::StoredTensor& tensor) const override;
    std::unique_ptr<device::Buffer> wrap_images(std::span<const device::Image> images,
                                                const device::StoredTensor& tensor) override;

    int members() const { return members_.count(); }

  private:
    // Whether the member keeps a part: not of weights that its own graphs do not read.
    bool holds(const device::StoredTensor& tensor, int member) const;
    device::BufferType& type_of(const device::StoredTensor& tensor, int member) const;

    const Members& members_;
    const bool members_choose_;
    device::BufferTypeDescription description_;
};

class MetaBuffer : public device::Buffer {
  public:
    struct Part {
        int member = 0;
        std::unique_ptr<device::Buffer> buffer;
    };
    // By tensor and member, whole tensors of buffers in `parts`; no buffer where a member has nothing.
    using Places = std::vector<std::vector<device::Region>>;

    MetaBuffer(MetaBufferType& type, device::Usage usage, std::vector<device::StoredTensor> tensors,
               std::vector<Part> parts, Places places, std::vector<device::Buffer*> of_members);

    device::Usage usage() const override { return usage_; }
    device::BufferType& type() const override { return type_; }
    std::span<const ir::TensorDesc> tensors() const override { return descs_; }
    int64_t stored_bytes() const override;
    std::vector<int64_t> member_stored_bytes() const override;
    std::vector<device::Image> images(int32_t tensor) const override;

    const device::StoredTensor& tensor(int32_t index) const { return tensors_[static_cast<size_t>(index)]; }
    const device::Region& place(int32_t tensor, int member) const {
        return places_[static_cast<size_t>(tensor)][static_cast<size_t>(member)];
    }
    // Which pieces of a split tensor the member stores.
    const ir::StoredSlice& slice(int32_t tensor, int member) const {
        return slices_[static_cast<size_t>(tensor)][static_cast<size_t>(member)];
    }
    // Of plain rows: the one buffer that a member has all its parts in, in order.
    device::Buffer* of_member(int member) const { return of_members_[static_cast<size_t>(member)]; }

  private:
    MetaBufferType& type_;
    const device::Usage usage_;
    const std::vector<device::StoredTensor> tensors_;
    std::vector<ir::TensorDesc> descs_;
    std::vector<Part> parts_;
    const Places places_;
    std::vector<std::vector<ir::StoredSlice>> slices_;  // as places_; none of tensors that are not split
    const std::vector<device::Buffer*> of_members_;
};

// Of whatever a stream or a program of this device is given.
MetaBuffer& meta_buffer(device::Buffer& buffer);

}  // namespace plait::backends::meta
