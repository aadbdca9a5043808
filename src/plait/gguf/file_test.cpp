#include "plait/gguf/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "plait/base/error.h"
#include "plait/gguf/raw_file_for_test.h"

namespace plait::gguf {
namespace {

using test::RawFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

RawFile two_tensors(uint32_t version = kNewestVersion) {
    return RawFile()
        .header(2, 1, version)
        .entry("general.architecture", "llama")
        .tensor({.name = "token_embd.weight", .dims = {4, 3, 2}, .offset = 32})
        .tensor({.name = "output_norm.weight", .dims = {8}, .offset = 0})
        .data(32 + 96);
}

TEST(File, OffersTensorsInnermostDimensionLast) {
    const RawFile raw = two_tensors();
    const File file = File::parse(raw.bytes(), "m.gguf");
    ASSERT_EQ(file.tensors().size(), 2u);
    const Tensor& embedding = file.tensors()[0];
    EXPECT_EQ(embedding.name, "token_embd.weight");
    EXPECT_EQ(embedding.type, dtype::DType::F32);
    EXPECT_EQ(embedding.type_id, 0u);
    EXPECT_EQ(&file.part_of(embedding), file.parts().data());
    EXPECT_THAT(embedding.shape(), ElementsAre(2, 3, 4));
    EXPECT_EQ(embedding.elements(), 24);
    EXPECT_EQ(embedding.data.size(), 96u);
    EXPECT_EQ(file.offset_of(embedding), file.parts().front().data_offset + 32);
    EXPECT_EQ(embedding.data.data(), raw.bytes().data() + file.offset_of(embedding));
}

TEST(File, KnowsItsHeader) {
    const RawFile raw = two_tensors(2);
    const File file = File::parse(raw.bytes(), "m.gguf");
    EXPECT_EQ(file.source(), "m.gguf");
    EXPECT_EQ(file.parts().front().version, 2u);
    EXPECT_EQ(file.parts().front().alignment, 32u);
    EXPECT_EQ(file.parts().front().data_offset % 32, 0u);
    EXPECT_EQ(file.file_bytes(), raw.bytes().size());
    EXPECT_EQ(file.metadata().get<std::string_view>("general.architecture"), "llama");
}

TEST(File, FindsTensorsByName) {
    const RawFile raw = two_tensors();
    const File file = File::parse(raw.bytes(), "m.gguf");
    EXPECT_EQ(file.find_tensor("output_norm.weight"), &file.tensors()[1]);
    EXPECT_EQ(file.find_tensor("token_embd.weight"), &file.tensors()[0]);
    EXPECT_EQ(file.find_tensor("output"), nullptr);
    EXPECT_EQ(file.find_tensor(""), nullptr);
}

TEST(File, KeepsTensorsOfTypesPlaitHasNoFormatFor) {
    const RawFile raw = RawFile()
                            .header(3, 0)
                            .tensor({.name = "a", .type = 27})
                            .tensor({.name = "b", .dims = {7, 2}, .type = 4000000000, .offset = 64})
                            .tensor({.name = "c", .offset = 96})
                            .data(128);
    const File file = File::parse(raw.bytes(), "m.gguf");
    const Tensor& strange = *file.find_tensor("b");
    EXPECT_EQ(strange.type, std::nullopt);
    EXPECT_EQ(strange.type_id, 4000000000u);
    EXPECT_THAT(strange.shape(), ElementsAre(2, 7));
    EXPECT_TRUE(strange.data.empty());
    EXPECT_EQ(file.offset_of(strange), file.parts().front().data_offset + 64);
}

TEST(File, MayHoldNothing) {
    const RawFile raw = RawFile().header(0, 0);
    const File file = File::parse(raw.bytes(), "m.gguf");
    EXPECT_TRUE(file.tensors().empty());
    EXPECT_TRUE(file.metadata().entries().empty());
}

TEST(File, TakesTheAlignmentFromItsMetadata) {
    for (const uint32_t alignment : {8u, 64u, 4096u}) {
        const RawFile raw = RawFile()
                                .header(1, 1)
                                .entry("general.alignment", ValueType::UInt32, alignment)
                                .tensor({.offset = alignment})
                                .data(alignment + 32, alignment);
        const File file = File::parse(raw.bytes(), "m.gguf");
        EXPECT_EQ(file.parts().front().alignment, alignment);
        EXPECT_EQ(file.offset_of(file.tensors()[0]), file.parts().front().data_offset + alignment);
    }
}

TEST(File, OpensAPathAndStaysValidWhenMoved) {
    const auto path = std::filesystem::path(::testing::TempDir()) / "plait_file_test.gguf";
    std::ofstream(path, std::ios::binary) << two_tensors().raw();
    File first = File::open(path);
    std::filesystem::remove(path);
    const std::byte* where = first.tensors()[0].data.data();
    const File second = std::move(first);
    EXPECT_EQ(second.source(), path.string());
    EXPECT_EQ(second.tensors()[0].data.data(), where);
    EXPECT_EQ(*where, std::byte{'d'});
    EXPECT_EQ(second.metadata().get<std::string_view>("general.architecture"), "llama");
}

TEST(File, ForgetsNoByteOfATensor) {
    const RawFile raw = two_tensors();
    const auto path = std::filesystem::path(::testing::TempDir()) / "plait_file_forgets.gguf";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(raw.bytes().data()),
               static_cast<std::streamsize>(raw.bytes().size()));
    const std::vector<std::byte> bytes(raw.bytes().begin(), raw.bytes().end());
    const File files[] = {File::open(path), File::parse(raw.bytes(), "m.gguf")};
    for (const File& file : files) {
        for (const Tensor& tensor : file.tensors()) file.forget(tensor);
        EXPECT_TRUE(std::ranges::equal(file.parts().front().bytes, bytes));
    }
    std::filesystem::remove(path);
}

TEST(File, NamesAMissingPath) {
    EXPECT_THAT([] { File::open("no/such/file.gguf"); },
                ThrowsMessage<Error>(AllOf(HasSubstr("no/such/file.gguf"), HasSubstr("No such file"))));
}

}  // namespace
}  // namespace plait::gguf
