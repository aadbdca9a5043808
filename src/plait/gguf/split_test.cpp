// Models in several files: whole ones, and every way in which the parts can contradict one another.

#include "plait/gguf/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "plait/base/error.h"
#include "plait/gguf/raw_file_for_test.h"
#include "plait/gguf/split_model_for_test.h"
#include "plait/gguf/writer.h"

namespace plait::gguf {
namespace {

using test::RawFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The keys of a part, and what lies: to be changed and written.
struct PartLie {
    std::optional<uint64_t> index;
    std::optional<uint64_t> count;
    std::optional<uint64_t> tensors;
    std::string architecture;
    std::vector<std::string> names;  // of its tensors

    std::string bytes() const {
        RawFile raw = RawFile().header(names.size(), (index ? 1 : 0) + (count ? 1 : 0) + (tensors ? 1 : 0) +
                                                         (architecture.empty() ? 0 : 1));
        if (!architecture.empty()) raw.entry("general.architecture", architecture);
        if (index) raw.entry("split.no", ValueType::UInt64, *index);
        if (count) raw.entry("split.count", ValueType::UInt64, *count);
        if (tensors) raw.entry("split.tensors.count", ValueType::UInt64, *tensors);
        for (size_t i = 0; i < names.size(); ++i) raw.tensor({.name = names[i], .offset = i * 32});
        return raw.data(names.size() * 32).raw();
    }
};

class SplitTest : public ::testing::Test {
  protected:
    SplitTest() {
        std::filesystem::create_directories(folder_);
        for (size_t i = 0; i < 3; ++i) parts_[i] = {.index = i, .count = 3, .tensors = 4};
        parts_[0].architecture = "llama";
        parts_[0].names = {"a"};
        parts_[1].names = {"b", "c"};
        parts_[2].names = {"d"};
    }
    ~SplitTest() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path path(size_t index) const {
        return folder_ / ("m-0000" + std::to_string(index + 1) + "-of-00003.gguf");
    }
    void write(const std::filesystem::path& target, const std::string& bytes) {
        std::ofstream(target, std::ios::binary) << bytes;
    }
    void write_all() {
        for (size_t i = 0; i < 3; ++i) write(path(i), parts_[i].bytes());
    }

    // What opening says, with the folder's name left out; empty when it succeeds.
    std::string complaint_of(const std::filesystem::path& target) const {
        try {
            File::open(target);
            return {};
        } catch (const Error& error) {
            std::string message = error.what();
            const std::string folder = folder_.string() + "/";
            for (size_t at; (at = message.find(folder)) != std::string::npos;)
                message.erase(at, folder.size());
            return message;
        }
    }
    // The same from each part after writing all; opening must not depend on which.
    std::string complaint() {
        write_all();
        const std::string message = complaint_of(path(0));
        for (const size_t index : {1, 2}) EXPECT_EQ(complaint_of(path(index)).empty(), message.empty());
        return message;
    }

    std::filesystem::path folder_ =
        std::filesystem::path(::testing::TempDir()) / ("plait_split_test_" + std::to_string(getpid()));
    PartLie parts_[3];
};

TEST_F(SplitTest, OpensFromAnyPart) {
    write_all();
    for (size_t asked = 0; asked < 3; ++asked) {
        const File file = File::open(path(asked));
        ASSERT_EQ(file.parts().size(), 3u);
        EXPECT_EQ(file.source(), path(0).string());
        EXPECT_EQ(file.metadata().get<std::string_view>("general.architecture"), "llama");
        ASSERT_EQ(file.tensors().size(), 4u);
        uint64_t bytes = 0;
        for (const Part& part : file.parts()) bytes += part.bytes.size();
        EXPECT_EQ(file.file_bytes(), bytes);
        const Tensor& c = *file.find_tensor("c");
        EXPECT_EQ(c.part, 1u);
        EXPECT_EQ(file.part_of(c).source, path(1).string());
        EXPECT_EQ(file.offset_of(c), file.parts()[1].data_offset + 32);
        EXPECT_EQ(file.find_tensor("d")->data.data(),
                  file.parts()[2].bytes.data() + file.parts()[2].data_offset);
    }
}

TEST_F(SplitTest, WorksFromItsOwnFolderAndThroughLinks) {
    write_all();
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
    EXPECT_EQ(File::open(path(1).filename()).tensors().size(), 4u);
    std::filesystem::current_path(before);
    const auto links = folder_ / "links";
    std::filesystem::create_directory(links);
    std::filesystem::create_directory(folder_ / "blobs");
    for (size_t i = 0; i < 3; ++i) {  // as download caches lie: links with the names, files without
        const auto blob = folder_ / "blobs" / std::to_string(i);
        std::filesystem::rename(path(i), blob);
        std::filesystem::create_symlink(blob, links / path(i).filename());
    }
    EXPECT_EQ(File::open(links / path(2).filename()).tensors().size(), 4u);
}

TEST_F(SplitTest, APartMayHaveNoTensorsAndAlignmentOfItsOwn) {
    parts_[1].names = {"a", "b", "c"};
    parts_[0].names = {};
    EXPECT_EQ(complaint(), "");
    write(path(2), RawFile()
                       .header(1, 3)
                       .entry("split.no", ValueType::UInt16, uint16_t{2})
                       .entry("split.count", ValueType::UInt16, uint16_t{3})
                       .entry("general.alignment", ValueType::UInt32, 64u)
                       .tensor({.name = "d", .offset = 64})
                       .data(96, 64)
                       .raw());
    const File file = File::open(path(0));
    EXPECT_EQ(file.parts()[2].alignment, 64u);
    EXPECT_EQ(file.parts()[0].alignment, 32u);
}

TEST_F(SplitTest, OneFileIsAWholeModelUnderAnyName) {
    for (const uint64_t count : {0, 1}) {  // 0: what merging leaves behind
        parts_[0].count = count;
        parts_[0].tensors = 1000;
        write(folder_ / "any.gguf", parts_[0].bytes());
        EXPECT_EQ(File::open(folder_ / "any.gguf").parts().size(), 1u);
    }
}

TEST_F(SplitTest, MissingParts) {
    write_all();
    std::filesystem::remove(path(1));
    EXPECT_EQ(complaint_of(path(0)),
              "m-00001-of-00003.gguf: it is part 1 of 3 of a model, of which part 2 is missing: expected "
              "m-00002-of-00003.gguf (all parts lie in one folder)");
    EXPECT_THAT(complaint_of(path(2)),
                HasSubstr("m-00003-of-00003.gguf: it is part 3 of 3 of a model, of which "
                          "part 2 is missing"));
    std::filesystem::remove(path(0));
    EXPECT_THAT(complaint_of(path(2)), HasSubstr("part 1 is missing: expected m-00001-of-00003.gguf"));
}

TEST_F(SplitTest, PartsThatCannotBeRead) {
    write_all();
    write(path(1), "<html>");
    EXPECT_THAT(complaint_of(path(0)), AllOf(HasSubstr("m-00002-of-00003.gguf: "), HasSubstr("web page")));
    write(path(1), parts_[1].bytes().substr(0, 200));
    EXPECT_THAT(complaint_of(path(0)), HasSubstr("m-00002-of-00003.gguf: "));
    std::filesystem::remove(path(1));
    std::filesystem::create_directory(path(1));
    EXPECT_THAT(complaint_of(path(0)), AllOf(HasSubstr("m-00002-of-00003.gguf"), HasSubstr("directory")));
}

TEST_F(SplitTest, NamesThatAreNotThePartsOwn) {
    for (const char* name : {"renamed.gguf", "m-00002-of-00003.gguf", "m-1-of-3.gguf",
                             "m-00001-of-00004.gguf", "-00001-of-00003", "00001-of-00003.gguf"}) {
        write(folder_ / name, parts_[0].bytes());
        EXPECT_EQ(complaint_of(folder_ / name),
                  std::string(name) +
                      ": it says that it is part 1 of 3 of a model, so its name should end in "
                      "'-00001-of-00003.gguf'; give all parts back the names they had");
    }
}

TEST_F(SplitTest, RepeatedParts) {
    parts_[2] = parts_[1];
    write_all();
    EXPECT_EQ(
        complaint_of(path(0)),
        "m-00003-of-00003.gguf: its name says that it is part 3 of 3 of a model, but its metadata that it is "
        "part 2 of 3; it may be a copy of another file");
}

TEST_F(SplitTest, PartsOfAnotherCount) {
    const auto with_count = [&](std::optional<uint64_t> count) {
        parts_[1].count = count;
        write_all();
        return complaint_of(path(0));
    };
    EXPECT_THAT(with_count(4),
                HasSubstr("m-00002-of-00003.gguf: its name says that it is part 2 of 3 of a model, but "
                          "its metadata that it is part 2 of 4"));
    EXPECT_THAT(with_count(1), HasSubstr("but its metadata that it is a whole one"));
    EXPECT_THAT(with_count(std::nullopt), HasSubstr("but its metadata that it is a whole one"));
}

TEST_F(SplitTest, PlacesThatCannotBe) {
    for (const uint64_t index : {uint64_t{3}, uint64_t{1} << 31, ~uint64_t{0}}) {
        parts_[0].index = index;
        EXPECT_EQ(complaint(),
                  "m-00001-of-00003.gguf: metadata key 'split.no': expected less than the 3 parts "
                  "there are, found " +
                      std::to_string(index));
    }
    parts_[0].index.reset();
    EXPECT_THAT(complaint(), HasSubstr("metadata key 'split.no' is missing"));
    parts_[0].index = 0;
    for (const uint64_t count : {uint64_t{100'000}, uint64_t{1} << 63, ~uint64_t{0}}) {
        parts_[0].count = count;
        EXPECT_THAT(complaint(), HasSubstr("metadata key 'split.count': expected at most 99999, found " +
                                           std::to_string(count)));
    }
    write(path(0), RawFile().header(0, 1).entry("split.count", "three").raw());
    EXPECT_THAT(complaint_of(path(0)), HasSubstr("'split.count': expected uint64, found string"));
    write(path(0), RawFile().header(0, 1).entry("split.count", ValueType::Int32, int32_t{-3}).raw());
    EXPECT_THAT(complaint_of(path(0)), HasSubstr("'split.count': expected uint64, found int32 -3"));
}

TEST_F(SplitTest, TensorCounts) {
    parts_[2].tensors = 5;
    EXPECT_EQ(
        complaint(),
        "m-00003-of-00003.gguf: metadata key 'split.tensors.count': expected the 4 tensors that the 3 parts "
        "hold, found 5");
    parts_[2].tensors.reset();
    EXPECT_EQ(complaint(), "");
    parts_[1].names.pop_back();
    EXPECT_THAT(complaint(),
                HasSubstr("m-00001-of-00003.gguf: metadata key 'split.tensors.count': expected the 3 "
                          "tensors"));
}

TEST_F(SplitTest, TensorsInTwoParts) {
    parts_[2].names = {"b"};
    EXPECT_THAT(complaint(), AllOf(HasSubstr("m-00003-of-00003.gguf: tensor 'b' at byte "),
                                   HasSubstr("another tensor has the same name, at byte "),
                                   HasSubstr(" of m-00002-of-00003.gguf")));
}

TEST_F(SplitTest, Architectures) {
    parts_[1].architecture = "llama";
    EXPECT_EQ(complaint(), "");
    parts_[1].architecture = "gpt2";
    EXPECT_EQ(complaint(),
              "m-00002-of-00003.gguf: metadata key 'general.architecture': expected 'llama' as in "
              "m-00001-of-00003.gguf, found 'gpt2'");
    parts_[0].architecture.clear();
    EXPECT_THAT(complaint(), HasSubstr("expected none as in m-00001"));
}

TEST_F(SplitTest, APartInMemoryIsNoModel) {
    const std::string bytes = parts_[1].bytes();
    EXPECT_THAT(
        [&] { File::parse(std::as_bytes(std::span(bytes)), "m.gguf"); },
        ::testing::ThrowsMessage<Error>("m.gguf: it is one of the 3 parts of a model, expected a whole one"));
}

TEST_F(SplitTest, WhatTheTestHelperWritesIsTheSameModel) {
    Writer writer;
    writer.set("general.architecture", "llama");
    writer.set_strings("texts", std::vector<std::string>{"a", "", "b"});
    const std::vector<std::byte> data(64, std::byte{7});
    for (const char* name : {"a", "b", "c"})
        writer.add({name, dtype::DType::F32, {2, 8}, data_in_memory(data)});
    writer.write(folder_ / "whole.gguf");
    const File whole = File::open(folder_ / "whole.gguf");
    for (const int count : {2, 3, 5}) {
        const auto paths = test::write_parts(whole, folder_, "n", count);
        ASSERT_EQ(paths.size(), static_cast<size_t>(count));
        const File parts = File::open(paths.back());
        EXPECT_EQ(parts.parts().size(), static_cast<size_t>(count));
        ASSERT_EQ(parts.tensors().size(), 3u);
        for (size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(parts.tensors()[i].name, whole.tensors()[i].name);
            EXPECT_TRUE(std::ranges::equal(parts.tensors()[i].data, data));
        }
        EXPECT_EQ(parts.metadata().strings("texts").size(), 3u);
    }
}

}  // namespace
}  // namespace plait::gguf
