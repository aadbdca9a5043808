#include "plait/backends/cpu/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/memory_info.h"

namespace plait::backends::cpu {
namespace {

int64_t round_up(int64_t bytes, int64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

// Zeroed pages that take no memory until touched.
std::byte* map_pages(const std::string& device_name, size_t bytes) {
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        throw Error(fmt::format("{}: {} bytes of memory are wanted and {} are free", device_name, bytes,
                                memory_info().available));
    }
    return static_cast<std::byte*>(memory);
}

}  // namespace

int64_t CpuBufferType::bytes(const device::StoredTensor& tensor) const {
    return round_up(layout_bytes_(tensor.desc) + kOverRead, kAlignment);
}

std::unique_ptr<device::Buffer> CpuBufferType::alloc(std::span<const device::StoredTensor> tensors,
                                                     device::Usage usage) {
    int64_t total = 0;
    for (const device::StoredTensor& tensor : tensors) total += bytes(tensor);
    if (total == 0) total = kAlignment;
    std::byte* memory = map_pages(device_name_, static_cast<size_t>(total));
    if (pages_.node >= 0) pages_.cores.bind_memory(memory, static_cast<size_t>(total), pages_.node);
    // Large pages, if the system likes: weights and caches are read in long runs.
    if (usage == device::Usage::weights || usage == device::Usage::state)
        madvise(memory, static_cast<size_t>(total), MADV_HUGEPAGE);
    std::vector<std::byte*> begins;
    std::byte* next = memory;
    std::vector<ir::TensorDesc> descs;
    for (const device::StoredTensor& tensor : tensors) {
        descs.push_back(tensor.desc);
        begins.push_back(next);
        next += bytes(tensor);
    }
    return std::make_unique<CpuBuffer>(*this, usage, std::move(descs), std::move(begins), memory,
                                       static_cast<size_t>(total));
}

std::unique_ptr<device::Buffer> CpuBufferType::wrap(std::span<const std::byte> host,
                                                    const device::StoredTensor& tensor,
                                                    int64_t readable_behind) {
    if (!can_wrap(tensor, readable_behind)) return nullptr;
    ENSURE(static_cast<int64_t>(host.size()) == tensor.desc.bytes(), "a wrapped tensor is whole");
    return use(host.data(), tensor);
}

std::unique_ptr<device::Buffer> CpuBufferType::use(const std::byte* host,
                                                   const device::StoredTensor& tensor) {
    // Weights are only read; the contract has no second kind of region for them.
    auto* begin = const_cast<std::byte*>(host);
    return std::make_unique<CpuBuffer>(*this, device::Usage::weights, std::vector{tensor.desc},
                                       std::vector{begin}, nullptr, 0);
}

bool CpuBufferType::can_wrap(const device::StoredTensor&, int64_t readable_behind) const {
    return uses_files() && is_rows() && readable_behind >= kOverRead;
}

std::vector<device::ImageDescription> CpuBufferType::describe_images(
    const device::StoredTensor& tensor) const {
    if (is_rows() || !uses_files()) return {};
    return {{.layout_id = description_.layout_id, .bytes = bytes(tensor)}};
}

std::unique_ptr<device::Buffer> CpuBufferType::wrap_images(std::span<const device::Image> images,
                                                           const device::StoredTensor& tensor) {
    if (is_rows() || !uses_files() || images.size() != 1) return nullptr;
    const device::Image& image = images.front();
    const bool aligned = reinterpret_cast<uintptr_t>(image.data()) % kAlignment == 0;
    if (!aligned || static_cast<int64_t>(image.size()) != bytes(tensor)) return nullptr;
    return use(image.data(), tensor);
}

std::vector<device::Image> CpuBuffer::images(int32_t tensor) const {
    const device::StoredTensor stored(tensors_[static_cast<size_t>(tensor)]);
    if (type_.describe_images(stored).empty()) return {};
    const int64_t bytes = type_.bytes(tensors_[static_cast<size_t>(tensor)]);
    return {{begin(tensor), static_cast<size_t>(bytes)}};
}

CpuBuffer::CpuBuffer(CpuBufferType& type, device::Usage usage, std::vector<ir::TensorDesc> tensors,
                     std::vector<std::byte*> begins, std::byte* memory, size_t mapped_bytes)
    : type_(type),
      usage_(usage),
      tensors_(std::move(tensors)),
      begins_(std::move(begins)),
      memory_(memory),
      mapped_bytes_(mapped_bytes) {}

CpuBuffer::~CpuBuffer() {
    if (mapped_bytes_ > 0) munmap(memory_, mapped_bytes_);
}

}  // namespace plait::backends::cpu
