#include "plait/backends/meta/memory.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "plait/base/ensure.h"

namespace plait::backends::meta {
namespace {

using device::StoredTensor;
using ir::LayoutKind;

// The stretch of a tensor's bytes that is a member's part, if it is one stretch.
std::optional<ir::Range> stretch_of(const StoredTensor& tensor, int member) {
    if (!tensor.layout.is(LayoutKind::split)) return ir::Range{0, tensor.desc.bytes()};
    if (tensor.layout.axis != 0) return std::nullopt;
    const int64_t slice = tensor.desc.slice_bytes();
    std::optional<ir::Range> found;
    for (const ir::Range& piece : tensor.layout.pieces(member)) {
        if (piece.empty()) continue;
        if (found && found->end != piece.begin * slice) return std::nullopt;
        found = ir::Range{found ? found->begin : piece.begin * slice, piece.end * slice};
    }
    return found.value_or(ir::Range{});
}

bool is_vector(const ir::TensorDesc& desc) { return desc.shape.rank() == 1; }

}  // namespace

bool has_part(const StoredTensor& tensor, int member) {
    return !tensor.layout.is(LayoutKind::split) || tensor.layout.extent_of(member) > 0;
}

ir::TensorDesc part_desc(const StoredTensor& tensor, int member) {
    return ir::stored_desc(tensor.desc, tensor.layout, member);
}

MetaBufferType::MetaBufferType(const Members& members, bool members_choose)
    : members_(members),
      members_choose_(members_choose),
      description_{.layout_id = members_choose ? kMembersLayout : device::kRowLayout, .host_readable = true} {
    for (int member = 0; member < members.count(); ++member) {
        const auto& rows = members.device(member).row_buffer_type().describe();
        description_.host_readable = description_.host_readable && rows.host_readable;
        description_.alignment = std::lcm(description_.alignment, rows.alignment);
        description_.over_read = std::max(description_.over_read, rows.over_read);
    }
}

device::BufferType& MetaBufferType::type_of(const StoredTensor& tensor, int member) const {
    device::Device& device = members_.device(member);
    if (!members_choose_) return device.row_buffer_type();
    ENSURE(tensor.weight >= 0, "only weights are stored as members choose");
    return device.buffer_type(
        members_.layouts[static_cast<size_t>(member)][static_cast<size_t>(tensor.weight)]);
}

bool MetaBufferType::holds(const StoredTensor& tensor, int member) const {
    if (!has_part(tensor, member)) return false;
    if (!members_choose_) return true;
    return members_.layouts[static_cast<size_t>(member)][static_cast<size_t>(tensor.weight)] >= 0;
}

std::vector<int64_t> MetaBufferType::member_bytes(const StoredTensor& tensor) const {
    std::vector<int64_t> bytes;
    for (int member = 0; member < members_.count(); ++member) {
        bytes.push_back(holds(tensor, member) ? type_of(tensor, member).bytes(part_desc(tensor, member)) : 0);
    }
    return bytes;
}

int64_t MetaBufferType::bytes(const StoredTensor& tensor) const {
    const std::vector<int64_t> bytes = member_bytes(tensor);
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

std::unique_ptr<device::Buffer> MetaBufferType::alloc(std::span<const StoredTensor> tensors,
                                                      device::Usage usage) {
    std::vector<MetaBuffer::Part> parts;
    MetaBuffer::Places places(tensors.size(), std::vector<device::Region>(members_.devices.size()));
    std::vector<device::Buffer*> of_members;
    for (int member = 0; member < members_.count(); ++member) {
        std::map<device::BufferType*, std::vector<size_t>> by_type;
        if (!members_choose_) by_type[&members_.device(member).row_buffer_type()];
        for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
            if (holds(tensors[tensor], member)) by_type[&type_of(tensors[tensor], member)].push_back(tensor);
        }
        for (const auto& [type, held] : by_type) {
            std::vector<StoredTensor> stored;
            for (const size_t tensor : held) stored.emplace_back(part_desc(tensors[tensor], member));
            parts.push_back({member, type->alloc(std::span<const StoredTensor>(stored), usage)});
            for (size_t i = 0; i < held.size(); ++i)
                places[held[i]][static_cast<size_t>(member)] =
                    device::whole(*parts.back().buffer, static_cast<int32_t>(i));
        }
        of_members.push_back(members_choose_ ? nullptr : parts.back().buffer.get());
    }
    return std::make_unique<MetaBuffer>(*this, usage, std::vector(tensors.begin(), tensors.end()),
                                        std::move(parts), std::move(places), std::move(of_members));
}

bool MetaBufferType::can_wrap(const StoredTensor& tensor, int64_t readable_behind) const {
    for (int member = 0; member < members_.count(); ++member) {
        if (!holds(tensor, member)) continue;
        const auto stretch = stretch_of(tensor, member);
        if (!stretch) return false;
        const int64_t behind = readable_behind + tensor.desc.bytes() - stretch->end;
        // A vector's part would begin anywhere; kernels want their rows where the file has them.
        if (is_vector(tensor.desc) && stretch->begin != 0) return false;
        if (!type_of(tensor, member).can_wrap(part_desc(tensor, member), behind)) return false;
    }
    return true;
}

std::unique_ptr<device::Buffer> MetaBufferType::wrap(std::span<const std::byte> host,
                                                     const StoredTensor& tensor, int64_t readable_behind) {
    if (!can_wrap(tensor, readable_behind)) return nullptr;
    std::vector<MetaBuffer::Part> parts;
    MetaBuffer::Places places(1, std::vector<device::Region>(members_.devices.size()));
    for (int member = 0; member < members_.count(); ++member) {
        if (!holds(tensor, member)) continue;
        const ir::Range stretch = *stretch_of(tensor, member);
        auto part =
            type_of(tensor, member)
                .wrap(host.subspan(static_cast<size_t>(stretch.begin), static_cast<size_t>(stretch.size())),
                      part_desc(tensor, member), readable_behind + tensor.desc.bytes() - stretch.end);
        ENSURE(part != nullptr, "what can be wrapped is");
        places[0][static_cast<size_t>(member)] = device::whole(*part, 0);
        parts.push_back({member, std::move(part)});
    }
    return std::make_unique<MetaBuffer>(*this, device::Usage::weights, std::vector{tensor}, std::move(parts),
                                        std::move(places), std::vector<device::Buffer*>{});
}

std::vector<device::ImageDescription> MetaBufferType::describe_images(const StoredTensor& tensor) const {
    std::vector<device::ImageDescription> images;
    for (int member = 0; member < members_.count(); ++member) {
        images.emplace_back();
        if (!holds(tensor, member)) continue;
        const auto part = type_of(tensor, member).describe_images(part_desc(tensor, member));
        if (part.empty()) return {};
        images.back() = part.front();
    }
    return images;
}

std::unique_ptr<device::Buffer> MetaBufferType::wrap_images(std::span<const device::Image> images,
                                                            const StoredTensor& tensor) {
    if (images.size() != members_.devices.size()) return nullptr;
    std::vector<MetaBuffer::Part> parts;
    MetaBuffer::Places places(1, std::vector<device::Region>(members_.devices.size()));
    for (int member = 0; member < members_.count(); ++member) {
        if (!holds(tensor, member)) continue;
        auto part =
            type_of(tensor, member)
                .wrap_images(images.subspan(static_cast<size_t>(member), 1), part_desc(tensor, member));
        if (part == nullptr) return nullptr;
        places[0][static_cast<size_t>(member)] = device::whole(*part, 0);
        parts.push_back({member, std::move(part)});
    }
    return std::make_unique<MetaBuffer>(*this, device::Usage::weights, std::vector{tensor}, std::move(parts),
                                        std::move(places), std::vector<device::Buffer*>{});
}

MetaBuffer::MetaBuffer(MetaBufferType& type, device::Usage usage, std::vector<StoredTensor> tensors,
                       std::vector<Part> parts, Places places, std::vector<device::Buffer*> of_members)
    : type_(type),
      usage_(usage),
      tensors_(std::move(tensors)),
      parts_(std::move(parts)),
      places_(std::move(places)),
      of_members_(std::move(of_members)) {
    for (const StoredTensor& tensor : tensors_) {
        descs_.push_back(tensor.desc);
        slices_.emplace_back();
        if (!tensor.layout.is(LayoutKind::split)) continue;
        for (size_t member = 0; member < places_[slices_.size() - 1].size(); ++member)
            slices_.back().push_back(ir::stored_slice(tensor.desc, tensor.layout, static_cast<int>(member)));
    }
}

int64_t MetaBuffer::stored_bytes() const {
    int64_t bytes = 0;
    for (const Part& part : parts_) bytes += part.buffer->stored_bytes();
    return bytes;
}

std::vector<int64_t> MetaBuffer::member_stored_bytes() const {
    std::vector<int64_t> bytes(static_cast<size_t>(type_.members()));
    for (const Part& part : parts_) bytes[static_cast<size_t>(part.member)] += part.buffer->stored_bytes();
    return bytes;
}

std::vector<device::Image> MetaBuffer::images(int32_t tensor) const {
    std::vector<device::Image> images;
    for (const device::Region& place : places_[static_cast<size_t>(tensor)]) {
        images.emplace_back();
        if (place.buffer == nullptr) continue;
        const std::vector<device::Image> part = place.buffer->images(place.tensor);
        if (part.empty()) return {};
        images.back() = part.front();
    }
    return images;
}

MetaBuffer& meta_buffer(device::Buffer& buffer) {
    auto* meta = dynamic_cast<MetaBuffer*>(&buffer);
    ENSURE(meta != nullptr, "a buffer of this device");
    return *meta;
}

}  // namespace plait::backends::meta
