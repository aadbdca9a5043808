#include "plait/backends/cpu/packing.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <map>
#include <random>
#include <string>

namespace plait::backends::cpu {
namespace {

std::vector<std::byte> random_bytes(int64_t count) {
    std::mt19937 random(1);
    std::vector<std::byte> bytes(static_cast<size_t>(count));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
    return bytes;
}

// By format, of two small matrices.
std::map<std::string, uint64_t> hashes_of_packed_bytes() {
    Cores cores;
    const auto group = collectives::local::group_of_one(cores, {});
    Runner runner(*group, 0, "cpu");
    std::map<std::string, uint64_t> hashes;
    for (const dtype::DTypeInfo& format : dtype::table()) {
        if (!can_pack(format.type)) continue;
        const ir::TensorDesc desc{format.type, {2, 19, 512}};
        std::vector<std::byte> packed(static_cast<size_t>(packed_bytes(desc)));
        pack_tensor(runner, desc, random_bytes(desc.bytes()), packed.data());
        hashes[format.name] = XXH3_64bits(packed.data(), packed.size());
    }
    return hashes;
}

// Other bytes under the same id would be mapped from a cache and taken for these: give kPackedLayout another
// number when one of them changes.
const std::map<std::string, uint64_t> kBytesOfThisLayout = {
    {"IQ4_NL", 0x170f461dc3d58797}, {"IQ4_XS", 0x5bd79399ae12ccc6}, {"MXFP4", 0xe23e33fdf6f221a1},
    {"Q2_K", 0x0bd58c268b2931d6},   {"Q3_K", 0x96c051ef7ad23290},   {"Q4_0", 0x170f461dc3d58797},
    {"Q4_1", 0x692992df44da4ca8},   {"Q4_K", 0x464e5e8bfb36412e},   {"Q5_0", 0x26a9826507d65529},
    {"Q5_1", 0x12be10373ef777b3},   {"Q5_K", 0xed75d1b5a1a82660},   {"Q6_K", 0xccf822b4fdb810cb},
    {"Q8_0", 0x4ed4f586e29a9b8f},   {"NVFP4", 0x06cf6cdf67ba2479},  {"TQ2_0", 0xa7cc9dfca6bd3a33},
};

TEST(Packing, BytesAreThoseOfTheLayoutId) {
    EXPECT_STREQ(kPackedLayout, "cpu.x8/3");
    EXPECT_EQ(hashes_of_packed_bytes(), kBytesOfThisLayout);
}

}  // namespace
}  // namespace plait::backends::cpu
