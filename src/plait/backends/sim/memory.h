#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "plait/device/device.h"

// The simulated device's memory: pages that nobody can touch but its own queues, and those only while they
// work on something that uses them. Whoever else reads or writes them is stopped by the processor.
namespace plait::backends::sim {

inline constexpr int64_t kAlignment = 64;

// Zeroed pages, closed unless in use.
class Pages {
  public:
    // Throws Error when the system has no address space left.
    Pages(std::string device_name, size_t bytes);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    std::byte* begin() const { return memory_; }
    size_t size() const { return bytes_; }

    // Uses are counted: the pages are open from the first open() to the close() that matches it. Any thread.
    // open() throws Error when the system refuses.
    void open();
    void close();

  private:
    bool protect(int access) const;

    const std::string device_name_;
    const size_t bytes_;
    std::byte* memory_ = nullptr;
    std::mutex mutex_;
    int uses_ = 0;
};

class SimBufferType : public device::BufferType {
  public:
    // `free_bytes` is what the device has left: alloc takes from it, a buffer's end gives back.
    SimBufferType(std::string device_name, int64_t& free_bytes);

    const device::BufferTypeDescription& describe() const override { return description_; }
    int64_t bytes(const device::StoredTensor& tensor) const override;
    using BufferType::alloc;
    std::unique_ptr<device::Buffer> alloc(std::span<const device::StoredTensor> tensors,
                                          device::Usage usage) override;
    // The device sees no memory but its own.
    std::unique_ptr<device::Buffer> wrap(std::span<const std::byte>, const device::StoredTensor&,
                                         int64_t) override {
        return nullptr;
    }
    bool can_wrap(const device::StoredTensor&, int64_t) const override { return false; }

    const std::string& device_name() const { return device_name_; }
    int64_t& free_bytes() const { return free_bytes_; }

  private:
    const std::string device_name_;
    const device::BufferTypeDescription description_;
    int64_t& free_bytes_;
};

class SimBuffer : public device::Buffer {
  public:
    // `begins` are the tensors' first bytes, counted from the buffer's.
    SimBuffer(SimBufferType& type, device::Usage usage, std::vector<ir::TensorDesc> tensors,
              std::vector<int64_t> begins, int64_t bytes);
    ~SimBuffer() override;

    device::Usage usage() const override { return usage_; }
    device::BufferType& type() const override { return type_; }
    std::span<const ir::TensorDesc> tensors() const override { return tensors_; }
    int64_t stored_bytes() const override { return stored_bytes_; }

    // Only to be followed while the pages are open.
    std::byte* begin(int32_t tensor) const { return pages_.begin() + begins_[static_cast<size_t>(tensor)]; }
    Pages& pages() { return pages_; }

  private:
    SimBufferType& type_;
    const device::Usage usage_;
    const std::vector<ir::TensorDesc> tensors_;
    const std::vector<int64_t> begins_;
    const int64_t
        stored_bytes_;  // what the tensors take: a whole number of pages is only how they are fenced
    Pages pages_;
};

// Keeps buffers open for as long as it lives. The list outlives it.
class Opened {
  public:
    explicit Opened(std::span<SimBuffer* const> buffers);
    ~Opened() { close(); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

  private:
    void close();

    std::span<SimBuffer* const> buffers_;
    size_t open_ = 0;  // of them, from the first on
};

}  // namespace plait::backends::sim
