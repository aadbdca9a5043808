#include "plait/backends/sim/memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "plait/backends/sim/sim_device.h"
#include "plait/base/cores.h"
#include "plait/base/error.h"

namespace plait::backends::sim {
namespace {

using ir::TensorDesc;

// Asks the system to read a byte, which answers where touching it would stop the test.
class Toucher {
  public:
    Toucher() : made_(pipe(ends_) == 0) {}
    ~Toucher() {
        close(ends_[0]);
        close(ends_[1]);
    }
    bool can_read(const std::byte* address) {
        std::byte byte;
        EXPECT_TRUE(made_);
        if (write(ends_[1], address, 1) == 1) return read(ends_[0], &byte, 1) == 1;
        EXPECT_EQ(errno, EFAULT);
        return false;
    }

  private:
    int ends_[2] = {-1, -1};
    const bool made_;
};

struct Fixture {
    Cores cores;
    SimDevice device{cores, {.memory_bytes = 1 << 20}};

    std::unique_ptr<device::Buffer> alloc(int64_t bytes) {
        const TensorDesc desc{ir::DType::F32, {bytes / 4}};
        return device.row_buffer_type().alloc({&desc, 1}, device::Usage::compute);
    }
    int64_t free() const { return device.describe().memory_bytes; }
};

TEST(SimMemory, IsClosedToTheHost) {
    Fixture f;
    Toucher toucher;
    const auto buffer = f.alloc(10000);
    auto& sim_buffer = static_cast<SimBuffer&>(*buffer);
    EXPECT_FALSE(toucher.can_read(sim_buffer.begin(0)));
    EXPECT_FALSE(toucher.can_read(sim_buffer.begin(0) + 9999));
    const auto stream = f.device.make_stream();
    const std::vector<std::byte> bytes(10000, std::byte{7});
    stream->write(device::whole(*buffer, 0), bytes);
    stream->synchronise();
    EXPECT_FALSE(toucher.can_read(sim_buffer.begin(0)));
}

TEST(SimMemory, IsOpenWhileAnybodyUsesIt) {
    Toucher toucher;
    Pages pages("sim", 4096);
    pages.open();
    EXPECT_TRUE(toucher.can_read(pages.begin()));
    pages.open();
    pages.close();
    EXPECT_TRUE(toucher.can_read(pages.begin()));
    pages.close();
    EXPECT_FALSE(toucher.can_read(pages.begin()));
}

TEST(SimMemory, IsOpenedForTheBuffersOfAnItemOnly) {
    Fixture f;
    Toucher toucher;
    const auto one = f.alloc(64), two = f.alloc(64), three = f.alloc(64);
    SimBuffer* const used[] = {static_cast<SimBuffer*>(one.get()), static_cast<SimBuffer*>(two.get())};
    {
        const Opened opened(used);
        EXPECT_TRUE(toucher.can_read(used[0]->begin(0)));
        EXPECT_TRUE(toucher.can_read(used[1]->begin(0)));
        EXPECT_FALSE(toucher.can_read(static_cast<SimBuffer*>(three.get())->begin(0)));
    }
    EXPECT_FALSE(toucher.can_read(used[0]->begin(0)));
    EXPECT_FALSE(toucher.can_read(used[1]->begin(0)));
}

TEST(SimMemory, CountsWhatIsLeft) {
    Fixture f;
    EXPECT_EQ(f.free(), 1 << 20);
    {
        const auto buffer = f.alloc(100000);
        EXPECT_EQ(f.free(), (1 << 20) - buffer->stored_bytes());
        EXPECT_GE(buffer->stored_bytes(), 100000);
    }
    EXPECT_EQ(f.free(), 1 << 20);
}

TEST(SimMemory, RefusesWhatDoesNotFit) {
    Fixture f;
    const auto most = f.alloc(1 << 19);
    try {
        f.alloc((1 << 19) + 4);
        FAIL() << "more than the limit";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "sim: 524352 bytes of memory are wanted and 524288 are free");
    }
    EXPECT_NE(f.alloc(1 << 19), nullptr) << "exactly what is left";
}

TEST(SimMemory, HasALimitByDefault) {
    Cores cores;
    EXPECT_EQ(SimDevice(cores, {}).describe().memory_bytes, kDefaultMemory);
}

TEST(SimMemory, NeverUsesTheHostsBytes) {
    Fixture f;
    const std::vector<std::byte> host(64);
    EXPECT_EQ(f.device.row_buffer_type().wrap(host, ir::TensorDesc{ir::DType::F32, {16}}, 4096), nullptr);
    EXPECT_FALSE(f.device.row_buffer_type().describe().host_readable);
}

}  // namespace
}  // namespace plait::backends::sim
