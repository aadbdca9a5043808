#include "plait/backends/sim/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "plait/base/checked.h"
#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::backends::sim {
namespace {

// The pages that hold so many bytes; also a buffer of nothing has an address.
size_t whole_pages(int64_t bytes) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    return static_cast<size_t>((std::max<int64_t>(bytes, 1) + page - 1) / page * page);
}

}  // namespace

Pages::Pages(std::string device_name, size_t bytes) : device_name_(std::move(device_name)), bytes_(bytes) {
    void* memory = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        throw Error(fmt::format("{}: the system has no room for {} bytes: {}", device_name_, bytes_,
                                std::strerror(errno)));
    }
    memory_ = static_cast<std::byte*>(memory);
}

Pages::~Pages() { munmap(memory_, bytes_); }

void Pages::open() {
    std::lock_guard lock(mutex_);
    if (uses_ == 0 && !protect(PROT_READ | PROT_WRITE)) {
        throw Error(fmt::format("{}: the system does not open {} bytes of memory: {}", device_name_, bytes_,
                                std::strerror(errno)));
    }
    ++uses_;
}

void Pages::close() {
    std::lock_guard lock(mutex_);
    ENSURE(uses_ > 0, "memory is closed as often as it was opened");
    if (--uses_ == 0) ENSURE(protect(PROT_NONE), "open memory can be closed");
}

bool Pages::protect(int access) const { return mprotect(memory_, bytes_, access) == 0; }

SimBufferType::SimBufferType(std::string device_name, int64_t& free_bytes)
    : device_name_(std::move(device_name)),
      description_{.layout_id = device::kRowLayout, .host_readable = false, .alignment = kAlignment},
      free_bytes_(free_bytes) {}

int64_t SimBufferType::bytes(const device::StoredTensor& tensor) const {
    return round_up_or_throw(tensor.desc.bytes(), kAlignment, device_name_);
}

std::unique_ptr<device::Buffer> SimBufferType::alloc(std::span<const device::StoredTensor> tensors,
                                                     device::Usage usage) {
    std::vector<int64_t> begins;
    int64_t total = 0;
    std::vector<ir::TensorDesc> descs;
    for (const device::StoredTensor& tensor : tensors) {
        descs.push_back(tensor.desc);
        begins.push_back(total);
        total = add_or_throw(total, bytes(tensor), device_name_);
    }
    if (total > free_bytes_) {
        throw Error(fmt::format("{}: {} bytes of memory are wanted and {} are free", device_name_, total,
                                free_bytes_));
    }
    return std::make_unique<SimBuffer>(*this, usage, std::move(descs), std::move(begins), total);
}

SimBuffer::SimBuffer(SimBufferType& type, device::Usage usage, std::vector<ir::TensorDesc> tensors,
                     std::vector<int64_t> begins, int64_t bytes)
    : type_(type),
      usage_(usage),
      tensors_(std::move(tensors)),
      begins_(std::move(begins)),
      stored_bytes_(bytes),
      pages_(type.device_name(), whole_pages(bytes)) {
    type_.free_bytes() -= stored_bytes();
}

SimBuffer::~SimBuffer() { type_.free_bytes() += stored_bytes(); }

Opened::Opened(std::span<SimBuffer* const> buffers) : buffers_(buffers) {
    try {
        for (SimBuffer* buffer : buffers_) {
            buffer->pages().open();
            ++open_;
        }
    } catch (...) {
        close();
        throw;
    }
}

void Opened::close() {
    for (SimBuffer* buffer : buffers_.first(open_)) buffer->pages().close();
    open_ = 0;
}

}  // namespace plait::backends::sim
