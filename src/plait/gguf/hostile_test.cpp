// Every way in which a GGUF file can lie, as named cases, a cut at every byte, and random damage. No case may
// do anything but throw Error with a sentence that says where, and none may allocate more than the file
// warrants.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <random>

#include "plait/base/allocation_count.h"
#include "plait/base/error.h"
#include "plait/gguf/file.h"
#include "plait/gguf/raw_file_for_test.h"
#include "plait/gguf/writer.h"

namespace plait::gguf {
namespace {

using test::RawFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kHuge[] = {uint64_t{1} << 31,
                              uint64_t{1} << 32,
                              (uint64_t{1} << 61) + 1,
                              uint64_t{1} << 62,
                              (uint64_t{1} << 63) - 1,
                              uint64_t{1} << 63,
                              std::numeric_limits<uint64_t>::max()};

// What opening says; empty when it succeeds.
std::string complaint(std::span<const std::byte> bytes) {
    const size_t before = allocated_bytes_of_thread();
    const std::clock_t start = std::clock();
    std::string message;
    try {
        File::parse(bytes, "m.gguf");
    } catch (const Error& error) {
        message = error.what();
        EXPECT_EQ(message.find("m.gguf: "), 0u) << message;
        EXPECT_LT(message.size(), 600u) << message;
    }
    EXPECT_LE(allocated_bytes_of_thread() - before, 4 * bytes.size() + (size_t{16} << 20));
    EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC);
    return message;
}
std::string complaint(const RawFile& raw) { return complaint(raw.bytes()); }
std::string complaint(std::string_view text) { return complaint(std::as_bytes(std::span(text))); }

// --- header

TEST(Hostile, UnknownVersions) {
    EXPECT_THAT(complaint(RawFile().header(0, 0, 0)),
                HasSubstr("GGUF version 0; Plait reads versions 2 and 3"));
    EXPECT_THAT(complaint(RawFile().header(0, 0, 1)), HasSubstr("GGUF version 1;"));
    EXPECT_THAT(complaint(RawFile().header(0, 0, 4)), HasSubstr("GGUF version 4;"));
    EXPECT_THAT(complaint(RawFile().header(0, 0, 0x03000000)), HasSubstr("big-endian GGUF version 3"));
    EXPECT_THAT(complaint(RawFile().header(0, 0, 0x02000000)), HasSubstr("big-endian GGUF version 2"));
}

// --- counts and lengths

TEST(Hostile, HugeCounts) {
    for (const uint64_t count : kHuge) {
        EXPECT_THAT(complaint(RawFile().header(count, 0)), HasSubstr(std::to_string(count) + " tensors"));
        EXPECT_THAT(complaint(RawFile().header(0, count)),
                    HasSubstr(std::to_string(count) + " metadata entries"));
    }
    EXPECT_THAT(complaint(RawFile().header(1, 0)), HasSubstr("1 tensors, which do not fit in the 0 bytes"));
    EXPECT_THAT(complaint(RawFile().header(0, 5)), HasSubstr("5 metadata entries, which do not fit"));
}

TEST(Hostile, HugeStrings) {
    for (const uint64_t length : kHuge) {
        const auto tail = [](RawFile& raw) -> RawFile& {
            return raw.text("some bytes, though never enough");
        };
        EXPECT_THAT(complaint(tail(RawFile().header(0, 1).number(length))),
                    AllOf(HasSubstr("metadata key 1 of 1 at byte 24"), HasSubstr(std::to_string(length))));
        EXPECT_THAT(
            complaint(tail(RawFile().header(0, 1).string("k").number(ValueType::String).number(length))),
            AllOf(HasSubstr("metadata key 'k' at byte 24"), HasSubstr(std::to_string(length))));
        EXPECT_THAT(complaint(tail(RawFile().header(0, 1).array("k", ValueType::String, 1).number(length))),
                    AllOf(HasSubstr("metadata key 'k'"), HasSubstr(std::to_string(length))));
        EXPECT_THAT(complaint(tail(RawFile().header(1, 0).number(length))),
                    AllOf(HasSubstr("tensor 1 of 1 at byte 24"), HasSubstr(std::to_string(length))));
    }
}

TEST(Hostile, HugeArrays) {
    for (const uint64_t count : kHuge)
        for (uint32_t type = 0; type < kValueTypes; ++type) {
            if (static_cast<ValueType>(type) == ValueType::Array) continue;
            EXPECT_THAT(complaint(RawFile().header(0, 1).array("k", type, count).text("few bytes")),
                        AllOf(HasSubstr("metadata key 'k' at byte 24"), HasSubstr(std::to_string(count))));
        }
}

TEST(Hostile, NamesOfWrongLength) {
    EXPECT_THAT(complaint(RawFile().header(0, 1).entry("", "v")), HasSubstr("the key is empty"));
    EXPECT_THAT(complaint(RawFile().header(0, 1).entry(std::string(65536, 'k'), "v")),
                HasSubstr("65536 bytes"));
    EXPECT_EQ(complaint(RawFile().header(0, 1).entry(std::string(65535, 'k'), "v")), "");
    EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.name = ""}).data(32)),
                HasSubstr("the name is empty"));
    const std::string name(65, 'n');
    EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.name = name}).data(32)), HasSubstr("65 bytes"));
    EXPECT_EQ(complaint(RawFile().header(1, 0).tensor({.name = name.substr(1)}).data(32)), "");
}

// --- metadata

TEST(Hostile, UnknownValueTypes) {
    for (const uint32_t type : {13u, 255u, 0xffffffffu}) {
        EXPECT_THAT(complaint(RawFile().header(0, 1).string("k").number(type).number(uint64_t{0})),
                    AllOf(HasSubstr("metadata key 'k' at byte 24"), HasSubstr(std::to_string(type))));
        EXPECT_THAT(
            complaint(RawFile().header(0, 1).array("k", type, 1).number(uint64_t{0})),
            AllOf(HasSubstr("metadata key 'k'"), HasSubstr("element type is " + std::to_string(type))));
    }
}

TEST(Hostile, NestedArrays) {
    const RawFile raw =
        RawFile().header(0, 1).array("k", ValueType::Array, 1).number(ValueType::Int8).number(uint64_t{0});
    EXPECT_THAT(complaint(raw), HasSubstr("metadata key 'k' at byte 24: the value is an array of arrays"));
}

TEST(Hostile, BoolsThatAreNeither) {
    EXPECT_THAT(complaint(RawFile().header(0, 1).entry("k", ValueType::Bool, uint8_t{2})),
                HasSubstr("metadata key 'k' at byte 24: a bool is stored as 2"));
    EXPECT_THAT(complaint(RawFile().header(0, 1).array("k", ValueType::Bool, 2).number(uint16_t{0xff01})),
                HasSubstr("a bool is stored as 255"));
}

TEST(Hostile, DuplicateKeys) {
    const RawFile raw = RawFile().header(0, 3).entry("a", "1").entry("b", "2").entry("a", "3");
    EXPECT_EQ(complaint(raw), "m.gguf: metadata key 'a' occurs twice");
}

TEST(Hostile, Alignments) {
    for (const uint32_t alignment : {0u, 1u, 4u, 12u, 33u, 0xffffffffu}) {
        const RawFile raw = RawFile().header(0, 1).entry("general.alignment", ValueType::UInt32, alignment);
        EXPECT_THAT(complaint(raw),
                    AllOf(HasSubstr("'general.alignment'"), HasSubstr(std::to_string(alignment))));
    }
    EXPECT_THAT(complaint(RawFile().header(0, 1).entry("general.alignment", "32")),
                HasSubstr("found string"));
    EXPECT_THAT(complaint(RawFile()
                              .header(1, 1)
                              .entry("general.alignment", ValueType::UInt32, 0x80000000u)
                              .tensor({})
                              .data(64)),
                HasSubstr("tensor 'w'"));
}

// --- tensors

TEST(Hostile, DimensionCounts) {
    EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.dims = {}}).data(64)),
                HasSubstr("tensor 'w' at byte 24: it has 0 dimensions, expected 1 to 4"));
    EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.dims = {8, 1, 1, 1, 1}}).data(64)),
                HasSubstr("it has 5 dimensions"));
    EXPECT_THAT(complaint(RawFile().header(1, 0).string("w").number(0xffffffffu).data(64)),
                HasSubstr("it has 4294967295 dimensions"));
    EXPECT_EQ(complaint(RawFile().header(1, 0).tensor({.dims = {8, 1, 1, 1}}).data(64)), "");
}

TEST(Hostile, ZeroDimensions) {
    EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.dims = {0}}).data(64)),
                HasSubstr("tensor 'w' at byte 24: one of its dimensions is 0"));
    EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.dims = {8, 0, 8}}).data(64)), HasSubstr("is 0"));
}

TEST(Hostile, OverflowingDimensions) {
    for (const uint64_t dim : kHuge) {
        EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.dims = {dim}}).data(64)),
                    HasSubstr("tensor 'w'"));
        EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.dims = {8, dim, dim}}).data(64)),
                    HasSubstr("tensor 'w'"));
    }
    constexpr uint64_t kRoot = uint64_t{1} << 32;  // the product is 0 modulo 2^64
    EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.dims = {kRoot, kRoot}}).data(64)),
                HasSubstr("more elements than any file can hold"));
    // 2^62 elements can be counted, their bytes cannot.
    EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.dims = {kRoot, kRoot / 4}}).data(64)),
                HasSubstr("more bytes than any file can hold"));
}

TEST(Hostile, RowsThatAreNotWholeBlocks) {
    EXPECT_THAT(
        complaint(RawFile().header(1, 0).tensor({.dims = {48, 2}, .type = 2}).data(256)),
        HasSubstr("tensor 'w' at byte 24: its rows have 48 elements, not a multiple of the 32 in a block of "
                  "Q4_0"));
}

TEST(Hostile, TensorsOfUnknownTypesMustLieInTheFileToo) {
    constexpr uint32_t kUnknown = 0xffffffff;
    const auto at = [](uint64_t offset) {
        return complaint(RawFile().header(1, 0).tensor({.type = kUnknown, .offset = offset}).data(64));
    };
    EXPECT_EQ(at(64), "");
    EXPECT_THAT(at(96), HasSubstr("tensor 'w' at byte 24: its data needs 0 bytes at offset 96"));
    EXPECT_THAT(at(8), HasSubstr("its data offset 8 is not a multiple"));
    EXPECT_THAT(complaint(RawFile()
                              .header(2, 0)
                              .tensor({.name = "a", .type = kUnknown})
                              .tensor({.name = "b", .type = kUnknown})
                              .data(64)),
                HasSubstr("overlaps"));
}

TEST(Hostile, MisalignedData) {
    for (const uint64_t offset : {1, 8, 31, 33})
        EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.offset = offset}).data(128)),
                    HasSubstr("tensor 'w' at byte 24: its data offset " + std::to_string(offset)));
}

TEST(Hostile, DataPastTheEnd) {
    EXPECT_EQ(complaint(RawFile().header(1, 0).tensor({}).data(32)), "");
    EXPECT_THAT(
        complaint(RawFile().header(1, 0).tensor({}).data(31)),
        HasSubstr(
            "tensor 'w' at byte 24: its data needs 32 bytes at offset 0 of the data section, but the file "
            "ends after 31"));
    EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.offset = 32}).data(32)),
                HasSubstr("ends after 32"));
    for (const uint64_t offset : kHuge)
        EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.offset = offset & ~uint64_t{31}}).data(64)),
                    HasSubstr("ends after 64"));
}

TEST(Hostile, DuplicateTensors) {
    const RawFile raw = RawFile().header(2, 0).tensor({.offset = 0}).tensor({.offset = 32}).data(64);
    EXPECT_THAT(complaint(raw),
                HasSubstr("m.gguf: tensor 'w' at byte 57: another tensor has the same name, at byte 24"));
}

TEST(Hostile, OverlappingTensors) {
    const RawFile raw = RawFile()
                            .header(2, 0)
                            .tensor({.name = "a", .dims = {16}})
                            .tensor({.name = "b", .offset = 32})
                            .data(64);
    EXPECT_THAT(complaint(raw), HasSubstr("tensor 'b' at byte 57: its data overlaps that of tensor 'a'"));
    const RawFile same = RawFile().header(2, 0).tensor({.name = "a"}).tensor({.name = "b"}).data(64);
    EXPECT_THAT(complaint(same), HasSubstr("its data overlaps that of tensor"));
}

TEST(Hostile, NamesThatAreNotUtf8) {
    for (const char* name : {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80"}) {
        EXPECT_THAT(complaint(RawFile().header(0, 1).entry(name, "v")),
                    AllOf(HasSubstr("metadata key 1 of 1 at byte 24: the key '"), HasSubstr("is not UTF-8")));
        EXPECT_THAT(complaint(RawFile().header(1, 0).tensor({.name = name}).data(32)),
                    AllOf(HasSubstr("tensor 1 of 1 at byte 24: the name '"), HasSubstr("is not UTF-8")));
    }
    EXPECT_EQ(complaint(RawFile().header(0, 1).entry("größe", "\xff values may be any bytes")), "");
}

TEST(Hostile, NamesCannotSpoilTheTerminal) {
    EXPECT_THAT(complaint(RawFile().header(0, 1).entry("\x1b[2J", ValueType::Bool, uint8_t{9})),
                HasSubstr("'\\x1b[2J'"));
    EXPECT_THAT(complaint(RawFile().header(0, 1).entry("\xff", "v")), HasSubstr("'\\xff'"));
}

// --- damage

// A small valid file with entries of every kind and two tensors; the last byte belongs to a tensor.
std::string valid_file() {
    Writer writer;
    writer.set("general.architecture", "llama");
    writer.set("general.alignment", uint32_t{32});
    writer.set("a.bool", true);
    writer.set("a.i8", int8_t{-1});
    writer.set("a.u64", uint64_t{1});
    writer.set("a.f64", 0.5);
    const std::vector<std::string> tokens = {"a", "", "Ġb"};
    writer.set_strings("tokenizer.ggml.tokens", tokens);
    writer.set_array<float>("tokenizer.ggml.scores", std::vector<float>{1, 2, 3});
    writer.set_array<int32_t>("nothing", {});
    const std::vector<std::byte> data(2 * 32 * 4);
    writer.add({"w1", dtype::DType::F32, {2, 32}, data_in_memory(data)});
    writer.add({"w2", dtype::DType::F32, {8}, data_in_memory(std::span(data).first(32))});
    std::string file;
    writer.write([&](std::span<const std::byte> bytes) {
        file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
    return file;
}

// Reads everything a file offers, so that a view that leaves the file would be noticed by a sanitizer.
uint64_t read_all(const File& file) {
    uint64_t sum = 0;
    for (const auto& [key, value] : file.metadata().entries()) {
        sum += key.size() + file.metadata().contains(key);
        if (const auto text = value.as<std::string_view>())
            for (const char c : *text) sum += static_cast<uint8_t>(c);
        if (const auto strings = value.strings())
            for (const std::string_view text : *strings) sum += text.size();
        if (const auto numbers = value.array_as<int64_t>())
            for (const int64_t number : numbers->to_vector()) sum += static_cast<uint64_t>(number);
        if (const auto number = value.as<double>()) sum += *number > 0;
    }
    for (const Tensor& tensor : file.tensors()) {
        EXPECT_EQ(file.find_tensor(tensor.name), &tensor);
        for (const std::byte b : tensor.data) sum += std::to_integer<uint64_t>(b);
    }
    return sum;
}

// The bytes in a block of their own exact size, so that AddressSanitizer sees a step past the end.
void expect_error_or_sense(std::string_view text) {
    const std::vector<char> exact(text.begin(), text.end());
    const auto bytes = std::as_bytes(std::span(exact));
    if (complaint(bytes).empty()) read_all(File::parse(bytes, "m.gguf"));
}

TEST(Hostile, CutAtEveryByte) {
    const std::string whole = valid_file();
    ASSERT_EQ(complaint(whole), "");
    for (size_t size = 0; size < whole.size(); ++size) {
        const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_NE(complaint(std::as_bytes(std::span(cut))), "") << size << " of " << whole.size() << " bytes";
    }
}

TEST(Hostile, RandomDamage) {
    const std::string whole = valid_file();
    constexpr uint8_t kTelling[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    std::mt19937_64 random(20240229);
    int refused = 0;
    constexpr int kRounds = 20000;
    for (int round = 0; round < kRounds; ++round) {
        std::string damaged = whole;
        for (uint64_t hits = 1 + random() % 4; hits > 0; --hits) {
            char& victim = damaged[random() % damaged.size()];
            victim = static_cast<char>(random() % 2 ? kTelling[random() % std::size(kTelling)] : random());
        }
        refused += !complaint(damaged).empty();
        expect_error_or_sense(damaged);
    }
    EXPECT_GT(refused, kRounds / 10);  // the damage does hit
    EXPECT_LT(refused, kRounds);       // and not always
}

TEST(Hostile, RandomTailBehindAValidHeader) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 2000; ++round) {
        RawFile raw = RawFile().header(random() % 3, random() % 3);
        for (uint64_t words = random() % 40; words > 0; --words) raw.number<uint64_t>(random() % 16);
        expect_error_or_sense(raw.raw());
    }
}

// The densest file there can be: as many entries and tensors as fit.
TEST(Hostile, ManySmallThingsStayCheap) {
    constexpr uint32_t kCount = 50'000;
    const auto name = [](uint32_t i) {  // three bytes of 6 bits each
        return std::string{static_cast<char>('0' + i % 64), static_cast<char>('0' + i / 64 % 64),
                           static_cast<char>('0' + i / 4096)};
    };
    RawFile raw = RawFile().header(kCount, kCount);
    for (uint32_t i = 0; i < kCount; ++i) raw.string(name(i)).number(ValueType::UInt8).number(uint8_t{0});
    for (uint32_t i = 0; i < kCount; ++i)
        raw.tensor({.name = name(i), .dims = {8}, .offset = i * uint64_t{32}});
    raw.data(kCount * size_t{32});
    EXPECT_EQ(complaint(raw), "");
}

}  // namespace
}  // namespace plait::gguf
