#include "plait/gguf/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plait/base/error.h"
#include "plait/gguf/file.h"
#include "plait/gguf/raw_file_for_test.h"

namespace plait::gguf {
namespace {

using test::RawFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class MetadataTest : public ::testing::Test {
  protected:
    // One entry of every type.
    MetadataTest() {
        raw_.header(0, 18)
            .entry("u8", ValueType::UInt8, uint8_t{200})
            .entry("i8", ValueType::Int8, int8_t{-3})
            .entry("u16", ValueType::UInt16, uint16_t{60000})
            .entry("i16", ValueType::Int16, int16_t{-300})
            .entry("u32", ValueType::UInt32, uint32_t{4'000'000'000})
            .entry("i32", ValueType::Int32, int32_t{-70000})
            .entry("u64", ValueType::UInt64, std::numeric_limits<uint64_t>::max())
            .entry("i64", ValueType::Int64, std::numeric_limits<int64_t>::min())
            .entry("f32", ValueType::Float32, 1.5f)
            .entry("f64", ValueType::Float64, 1e300)
            .entry("yes", ValueType::Bool, uint8_t{1})
            .entry("no", ValueType::Bool, uint8_t{0})
            .entry("text", "plait")
            .entry("none", "");
        raw_.array("strings", ValueType::String, 3).string("a").string("").string("ccc");
        raw_.array("ints", ValueType::UInt32, 3).number(1u).number(2u).number(4'000'000'000u);
        raw_.array("floats", ValueType::Float32, 2).number(0.5f).number(-2.0f);
        raw_.array("empty", ValueType::Int32, 0);
        file_.emplace(File::parse(raw_.bytes(), "m.gguf"));
    }

    const Metadata& meta() const { return file_->metadata(); }

    RawFile raw_;
    std::optional<File> file_;
};

TEST_F(MetadataTest, ReadsEveryType) {
    EXPECT_EQ(meta().get<uint8_t>("u8"), 200);
    EXPECT_EQ(meta().get<int8_t>("i8"), -3);
    EXPECT_EQ(meta().get<uint16_t>("u16"), 60000);
    EXPECT_EQ(meta().get<int16_t>("i16"), -300);
    EXPECT_EQ(meta().get<uint32_t>("u32"), 4'000'000'000u);
    EXPECT_EQ(meta().get<int32_t>("i32"), -70000);
    EXPECT_EQ(meta().get<uint64_t>("u64"), std::numeric_limits<uint64_t>::max());
    EXPECT_EQ(meta().get<int64_t>("i64"), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(meta().get<float>("f32"), 1.5f);
    EXPECT_EQ(meta().get<double>("f64"), 1e300);
    EXPECT_TRUE(meta().get<bool>("yes"));
    EXPECT_FALSE(meta().get<bool>("no"));
    EXPECT_EQ(meta().get<std::string_view>("text"), "plait");
    EXPECT_EQ(meta().get<std::string_view>("none"), "");
    EXPECT_EQ(meta().entries().size(), 18u);
    EXPECT_EQ(meta().entries()[4].key, "u32");
}

TEST_F(MetadataTest, ConvertsIntegersThatFit) {
    EXPECT_EQ(meta().get<uint64_t>("u8"), 200u);
    EXPECT_EQ(meta().get<int64_t>("i8"), -3);
    EXPECT_EQ(meta().get<int64_t>("u32"), 4'000'000'000);
    EXPECT_EQ(meta().get<double>("f32"), 1.5);
}

TEST_F(MetadataTest, RefusesWhatDoesNotFit) {
    EXPECT_THAT([&] { meta().get<uint32_t>("i32"); },
                ThrowsMessage<Error>("m.gguf: metadata key 'i32': expected uint32, found int32 -70000"));
    EXPECT_THAT([&] { meta().get<int32_t>("u32"); },
                ThrowsMessage<Error>(HasSubstr("found uint32 4000000000")));
    EXPECT_THAT([&] { meta().get<int64_t>("u64"); },
                ThrowsMessage<Error>(HasSubstr("found uint64 18446744073709551615")));
    EXPECT_THAT([&] { meta().get<float>("f64"); }, ThrowsMessage<Error>(HasSubstr("found float64 1e+300")));
}

TEST_F(MetadataTest, RefusesOtherTypes) {
    EXPECT_THAT([&] { meta().get<uint32_t>("text"); }, ThrowsMessage<Error>(HasSubstr("found string")));
    EXPECT_THAT([&] { meta().get<uint32_t>("f32"); }, ThrowsMessage<Error>(HasSubstr("found float32 1.5")));
    EXPECT_THAT([&] { meta().get<float>("u8"); }, ThrowsMessage<Error>(HasSubstr("found uint8 200")));
    EXPECT_THAT([&] { meta().get<bool>("u8"); }, ThrowsMessage<Error>(HasSubstr("expected bool")));
    EXPECT_THAT([&] { meta().get<uint8_t>("yes"); }, ThrowsMessage<Error>(HasSubstr("found bool")));
    EXPECT_THAT([&] { meta().get<std::string_view>("strings"); },
                ThrowsMessage<Error>(HasSubstr("expected string, found array of string")));
    EXPECT_THAT([&] { meta().get<uint32_t>("ints"); },
                ThrowsMessage<Error>(HasSubstr("found array of uint32")));
}

TEST_F(MetadataTest, OptionalKeysMayBeMissingButNotWrong) {
    EXPECT_EQ(meta().get_or<uint32_t>("missing", 7), 7u);
    EXPECT_EQ(meta().get_or<uint32_t>("u8", 7), 200u);
    EXPECT_EQ(meta().get_optional<float>("missing"), std::nullopt);
    EXPECT_EQ(meta().get_or<std::string_view>("missing", "x"), "x");
    EXPECT_THROW(meta().get_or<uint32_t>("text", 7), Error);
    EXPECT_FALSE(meta().contains("missing"));
    EXPECT_TRUE(meta().contains("text"));
    EXPECT_THAT([&] { meta().get<uint32_t>("missing"); },
                ThrowsMessage<Error>("m.gguf: metadata key 'missing' is missing; expected uint32"));
}

TEST_F(MetadataTest, ReadsArrays) {
    EXPECT_THAT(meta().strings("strings"), ElementsAre("a", "", "ccc"));
    EXPECT_EQ(meta().strings("strings").size(), 3u);
    EXPECT_THAT(meta().array<uint32_t>("ints").to_vector(), ElementsAre(1, 2, 4'000'000'000u));
    EXPECT_EQ(meta().array<int64_t>("ints")[2], 4'000'000'000);
    EXPECT_THAT(meta().array<double>("floats").to_vector(), ElementsAre(0.5, -2.0));
    EXPECT_EQ(meta().array<uint16_t>("empty").size(), 0u);
    EXPECT_FALSE(meta().strings_optional("missing").has_value());
    EXPECT_FALSE(meta().array_optional<float>("missing").has_value());
}

TEST_F(MetadataTest, RefusesArraysOfAnotherType) {
    EXPECT_THAT([&] { meta().array<int32_t>("ints"); },  // the last element does not fit
                ThrowsMessage<Error>(HasSubstr("expected array of int32, found array of uint32")));
    EXPECT_THAT([&] { meta().array<float>("ints"); }, ThrowsMessage<Error>(HasSubstr("array of float32")));
    EXPECT_THAT([&] { meta().array<float>("strings"); }, ThrowsMessage<Error>(HasSubstr("array of string")));
    EXPECT_THAT([&] { meta().strings("text"); }, ThrowsMessage<Error>(HasSubstr("found string")));
    EXPECT_THAT([&] { meta().strings("missing"); },
                ThrowsMessage<Error>("m.gguf: metadata key 'missing' is missing; expected array of string"));
}

TEST(Metadata, FloatsKeepInfinityAndNan) {
    RawFile raw = RawFile()
                      .header(0, 2)
                      .entry("inf", ValueType::Float64, std::numeric_limits<double>::infinity())
                      .entry("nan", ValueType::Float64, std::nan(""));
    const File file = File::parse(raw.bytes(), "m.gguf");
    EXPECT_TRUE(std::isinf(file.metadata().get<float>("inf")));
    EXPECT_TRUE(std::isnan(file.metadata().get<float>("nan")));
}

}  // namespace
}  // namespace plait::gguf
