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
    Runner runner(cores, 1, {}, "cpu");
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
    {"IQ4_NL", 0xdb47b271f7375078}, {"IQ4_XS", 0x2becec1ccaf9fc4d}, {"MXFP4", 0x3c8b9344846aebc9},
    {"Q2_K", 0x62a479ef22e57969},   {"Q3_K", 0xacece955f10b9854},   {"Q4_0", 0xdb47b271f7375078},
    {"Q4_1", 0x66cb14d58f191a31},   {"Q4_K", 0x029be627de7e8e25},   {"Q5_0", 0x5917e299298ae965},
    {"Q5_1", 0x5c44aaa980ff3c90},   {"Q5_K", 0xfaf2c189f0ee5041},   {"Q6_K", 0xb3a571ea4c0ac879},
    {"Q8_0", 0xae98531199d9bd50},   {"NVFP4", 0x255dacc401fa928c},  {"TQ2_0", 0x694f5a623c82446f},
};

TEST(Packing, BytesAreThoseOfTheLayoutId) {
    EXPECT_STREQ(kPackedLayout, "cpu.x8/2");
    EXPECT_EQ(hashes_of_packed_bytes(), kBytesOfThisLayout);
}

}  // namespace
}  // namespace plait::backends::cpu
