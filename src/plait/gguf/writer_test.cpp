#include "plait/gguf/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "plait/base/error.h"
#include "plait/gguf/file.h"

namespace plait::gguf {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::byte> written(const Writer& writer) {
    std::vector<std::byte> file;
    writer.write(
        [&](std::span<const std::byte> bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); });
    return file;
}

std::vector<std::byte> random_bytes(size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> bytes(count);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    return bytes;
}

template <class T>
void expect_scalar_round_trip(T value) {
    Writer writer;
    writer.set("k", value);
    writer.set_array<T>("many", std::array<T, 3>{T(0), value, T(1)});
    const auto bytes = written(writer);
    const File file = File::parse(bytes, "w");
    EXPECT_EQ(file.metadata().find("k")->type(), value_type_of<T>());
    EXPECT_EQ(file.metadata().get<T>("k"), value);
    EXPECT_EQ(file.metadata().find("many")->element_type(), value_type_of<T>());
    const std::vector<T> many = file.metadata().array<T>("many").to_vector();
    EXPECT_TRUE((many == std::vector<T>{T(0), value, T(1)}));
}

TEST(Writer, RoundTripsEveryScalarType) {
    expect_scalar_round_trip(true);
    expect_scalar_round_trip(uint8_t{255});
    expect_scalar_round_trip(int8_t{-128});
    expect_scalar_round_trip(uint16_t{65535});
    expect_scalar_round_trip(int16_t{-32768});
    expect_scalar_round_trip(uint32_t{4294967295});
    expect_scalar_round_trip(int32_t{-2147483647});
    expect_scalar_round_trip(uint64_t{1} << 63);
    expect_scalar_round_trip(-(int64_t{1} << 62));
    expect_scalar_round_trip(0.1f);
    expect_scalar_round_trip(0.1);
}

TEST(Writer, RoundTripsStrings) {
    Writer writer;
    writer.set("literal", "text");
    writer.set("with zero", std::string_view("a\0b", 3));
    writer.set_strings("list", std::vector<std::string>{"x", "", "Ġy"});
    writer.set_strings("none", {});
    const auto bytes = written(writer);
    const File file = File::parse(bytes, "w");
    EXPECT_EQ(file.metadata().get<std::string_view>("literal"), "text");
    EXPECT_EQ(file.metadata().get<std::string_view>("with zero"), std::string_view("a\0b", 3));
    EXPECT_THAT(file.metadata().strings("list"), ElementsAre("x", "", "Ġy"));
    EXPECT_EQ(file.metadata().strings("none").size(), 0u);
}

TEST(Writer, AnEmptyFileIsValid) {
    const auto bytes = written(Writer());
    EXPECT_EQ(bytes.size() % kDefaultAlignment, 0u);
    EXPECT_TRUE(File::parse(bytes, "w").tensors().empty());
}

TEST(Writer, RoundTripsTensorsOfOddSizes) {
    const auto first = random_bytes(3 * 5 * 4, 1);
    const auto second = random_bytes(2 * 64 / 32 * 18, 2);
    const auto third = random_bytes(4, 3);
    Writer writer;
    writer.add({"first", dtype::DType::F32, {3, 5}, data_in_memory(first)});
    writer.add({"second", dtype::DType::Q4_0, {1, 2, 1, 64}, data_in_memory(second)});
    writer.add({"third", dtype::DType::F32, {1}, data_in_memory(third)});
    const auto bytes = written(writer);
    const File file = File::parse(bytes, "w");
    ASSERT_EQ(file.tensors().size(), 3u);
    EXPECT_THAT(file.tensors()[0].shape(), ElementsAre(3, 5));
    EXPECT_THAT(file.tensors()[0].data, ::testing::ElementsAreArray(first));
    EXPECT_EQ(file.tensors()[1].type, dtype::DType::Q4_0);
    EXPECT_THAT(file.tensors()[1].shape(), ElementsAre(1, 2, 1, 64));
    EXPECT_THAT(file.tensors()[1].data, ::testing::ElementsAreArray(second));
    EXPECT_THAT(file.tensors()[2].data, ::testing::ElementsAreArray(third));
    for (const Tensor& tensor : file.tensors()) EXPECT_EQ(file.offset_of(tensor) % kDefaultAlignment, 0u);
}

TEST(Writer, AsksForDataInPieces) {
    const auto data = random_bytes(400, 4);
    Writer writer;
    writer.add({"w", dtype::DType::F32, {100}, [&](const Writer::Sink& out) {
                    for (size_t i = 0; i < data.size(); i += 16) out(std::span(data).subspan(i, 16));
                }});
    const auto bytes = written(writer);
    EXPECT_THAT(File::parse(bytes, "w").tensors()[0].data, ::testing::ElementsAreArray(data));
}

TEST(Writer, WritesTheSameBytesToAFile) {
    const fs::path path = fs::path(::testing::TempDir()) / "plait_writer_test.gguf";
    const auto data = random_bytes(40, 5);
    Writer writer;
    writer.set("k", uint32_t{1});
    writer.add({"w", dtype::DType::F32, {10}, data_in_memory(data)});
    writer.write(path);
    EXPECT_EQ(fs::file_size(path), written(writer).size());
    EXPECT_THAT(File::open(path).tensors()[0].data, ::testing::ElementsAreArray(data));
    fs::remove(path);
}

TEST(Writer, LeavesNothingWhenTheDataFails) {
    const fs::path folder = fs::path(::testing::TempDir()) / "plait_writer_test_fails";
    fs::create_directories(folder);
    Writer writer;
    writer.add({"w", dtype::DType::F32, {10}, [](const Writer::Sink&) { throw Error("no data"); }});
    EXPECT_THAT([&] { writer.write(folder / "m.gguf"); }, ThrowsMessage<Error>("no data"));
    EXPECT_TRUE(fs::is_empty(folder));
    fs::remove_all(folder);
}

TEST(WriterDeathTest, MistakesOfTheProgramStopIt) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    Writer writer;
    writer.set("k", true);
    EXPECT_DEATH(writer.set("k", false), "k");
    writer.add({"w", dtype::DType::F32, {10}, [](const Writer::Sink&) {}});
    EXPECT_DEATH(writer.add({"w", dtype::DType::F32, {10}, [](const Writer::Sink&) {}}), "w");
    EXPECT_DEATH(writer.add({"v", dtype::DType::F32, {0}, [](const Writer::Sink&) {}}), "v");
    EXPECT_DEATH(written(writer), "written == data_bytes");
}

TEST(Writer, CopiesValuesOfEveryType) {
    Writer first;
    first.set("bool", true);
    first.set("u8", uint8_t{200});
    first.set("i64", int64_t{-5});
    first.set("f64", 0.25);
    first.set("text", "ab");
    first.set("empty", "");
    first.set_array<uint16_t>("numbers", std::vector<uint16_t>{1, 2, 3});
    first.set_strings("texts", std::vector<std::string>{"a", "", "bcd"});
    first.set_array<float>("nothing", {});
    first.set_strings("no texts", {});
    const auto written = [](const Writer& writer) {
        std::string bytes;
        writer.write([&](std::span<const std::byte> piece) {
            bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        });
        return bytes;
    };
    const std::string bytes = written(first);
    const File file = File::parse(std::as_bytes(std::span(bytes)), "m.gguf");
    Writer second;
    for (const auto& [key, value] : file.metadata().entries()) second.set_copy(key, value);
    EXPECT_EQ(written(second), bytes);
}

}  // namespace
}  // namespace plait::gguf
