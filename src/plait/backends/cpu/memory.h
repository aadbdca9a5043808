#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "plait/base/cores.h"
#include "plait/device/device.h"

// The CPU device's memory: anonymous pages, which the system zeroes when they are first touched.
namespace plait::backends::cpu {

inline constexpr int64_t kAlignment = 64;
// What the SIMD kernels may read behind the last value of a tensor.
inline constexpr int64_t kOverRead = 64;

// Bytes of one tensor in a layout, without alignment and over-read.
using LayoutBytesFn = int64_t (*)(const ir::TensorDesc& desc);

// Where pages come from: from one NUMA node, or (-1) wherever they are first touched.
struct PageSource {
    Cores& cores;  // outlives the memory
    int node = -1;
};

// With a node all memory is the device's own: pages of files lie wherever they happened to be read.
class CpuBufferType : public device::BufferType {
  public:
    // `device_name` is for messages.
    CpuBufferType(std::string device_name, PageSource pages, device::BufferTypeDescription description,
                  LayoutBytesFn layout_bytes)
        : device_name_(std::move(device_name)),
          pages_(pages),
          description_(std::move(description)),
          layout_bytes_(layout_bytes) {}

    const device::BufferTypeDescription& describe() const override { return description_; }
    int64_t bytes(const device::StoredTensor& tensor) const override;
    using BufferType::alloc;
    std::unique_ptr<device::Buffer> alloc(std::span<const device::StoredTensor> tensors,
                                          device::Usage usage) override;
    std::unique_ptr<device::Buffer> wrap(std::span<const std::byte> host, const device::StoredTensor& tensor,
                                         int64_t readable_behind) override;
    bool can_wrap(const device::StoredTensor& tensor, int64_t readable_behind) const override;
    std::vector<device::ImageDescription> describe_images(const device::StoredTensor& tensor) const override;
    std::unique_ptr<device::Buffer> wrap_images(std::span<const device::Image> images,
                                                const device::StoredTensor& tensor) override;

    bool is_rows() const { return description_.layout_id == device::kRowLayout; }

  private:
    std::unique_ptr<device::Buffer> use(const std::byte* host, const device::StoredTensor& tensor);

    bool uses_files() const { return pages_.node < 0; }

    std::string device_name_;
    PageSource pages_;
    device::BufferTypeDescription description_;
    LayoutBytesFn layout_bytes_;
};

class CpuBuffer : public device::Buffer {
  public:
    // Owns [memory, memory + mapped_bytes) when mapped_bytes > 0; `begins` are the tensors' first bytes.
    CpuBuffer(CpuBufferType& type, device::Usage usage, std::vector<ir::TensorDesc> tensors,
              std::vector<std::byte*> begins, std::byte* memory, size_t mapped_bytes);
    ~CpuBuffer() override;
    CpuBuffer(const CpuBuffer&) = delete;
    CpuBuffer& operator=(const CpuBuffer&) = delete;

    device::Usage usage() const override { return usage_; }
    device::BufferType& type() const override { return type_; }
    const CpuBufferType& cpu_type() const { return type_; }
    std::span<const ir::TensorDesc> tensors() const override { return tensors_; }
    int64_t stored_bytes() const override { return static_cast<int64_t>(mapped_bytes_); }
    std::vector<device::Image> images(int32_t tensor) const override;

    std::byte* begin(int32_t tensor) const { return begins_[static_cast<size_t>(tensor)]; }

  private:
    CpuBufferType& type_;
    device::Usage usage_;
    std::vector<ir::TensorDesc> tensors_;
    std::vector<std::byte*> begins_;
    std::byte* memory_;
    size_t mapped_bytes_;
};

}  // namespace plait::backends::cpu
