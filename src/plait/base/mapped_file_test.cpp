#include "plait/base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <string>

#include "plait/base/error.h"

namespace plait {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class MappedFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::path(::testing::TempDir()) / ("plait_mapped_file_" + std::string(test->name()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    fs::path file_with(std::string_view text) const {
        const fs::path path = folder_ / "file";
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }

    fs::path folder_;
};

std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(MappedFileTest, HoldsTheBytes) {
    for (const size_t size : {0, 1, 4095, 4096, 4097}) {
        std::string text(size, '\0');
        for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7);
        EXPECT_EQ(text_of(MappedFile(file_with(text))), text) << size;
    }
}

TEST_F(MappedFileTest, KnowsWhichFileItWas) {
    const fs::path path = file_with("some text");
    MappedFile file(path);
    const FileIdentity identity = file.identity();
    EXPECT_EQ(identity.bytes, 9u);
    EXPECT_EQ(identify_file(path), identity);
    const MappedFile moved(std::move(file));
    EXPECT_EQ(moved.identity(), identity);
    const auto time = fs::last_write_time(path);
    fs::last_write_time(path, time + std::chrono::nanoseconds(1));
    EXPECT_NE(identify_file(path), identity) << "touched";
    fs::last_write_time(path, time);
    EXPECT_EQ(identify_file(path), identity);
    fs::copy_file(path, folder_ / "copy");
    fs::last_write_time(folder_ / "copy", time);
    EXPECT_NE(identify_file(folder_ / "copy"), identity) << "another file";
    fs::remove(path);
    EXPECT_EQ(identify_file(path), std::nullopt);
}

TEST_F(MappedFileTest, ForgottenBytesComeBack) {
    std::string text(20000, '\0');
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
    const MappedFile file(file_with(text));
    for (const auto& [begin, size] :
         {std::pair<size_t, size_t>{0, 20000}, {4096, 4096}, {5000, 9000}, {19999, 1}, {0, 0}}) {
        ASSERT_EQ(text_of(file), text);
        file.forget(file.bytes().subspan(begin, size));
        EXPECT_EQ(text_of(file), text) << begin;
    }
    const MappedFile empty(file_with(""));
    empty.forget(empty.bytes());
}

TEST_F(MappedFileTest, BytesStayInPlaceWhenMoved) {
    MappedFile first(file_with("plait"));
    const std::byte* where = first.bytes().data();
    MappedFile second(std::move(first));
    EXPECT_EQ(second.bytes().data(), where);
    EXPECT_TRUE(first.bytes().empty());
    MappedFile third(file_with("other"));
    third = std::move(second);
    EXPECT_EQ(third.bytes().data(), where);
}

TEST_F(MappedFileTest, OutlivesItsName) {
    const fs::path path = file_with("kept");
    const MappedFile file(path);
    fs::remove(path);
    EXPECT_EQ(text_of(file), "kept");
}

TEST_F(MappedFileTest, SaysWhatIsWrong) {
    const fs::path missing = folder_ / "missing.gguf";
    EXPECT_THAT([&] { MappedFile file(missing); },
                ThrowsMessage<Error>(AllOf(HasSubstr(missing.string()), HasSubstr("No such file"))));
    EXPECT_THAT([&] { MappedFile file(folder_); }, ThrowsMessage<Error>(HasSubstr("is a directory")));
    EXPECT_THAT([&] { MappedFile file("/dev/null"); }, ThrowsMessage<Error>(HasSubstr("not a regular file")));
}

TEST_F(MappedFileTest, DoesNotWaitForAPipe) {
    const fs::path pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT([&] { MappedFile file(pipe); }, ThrowsMessage<Error>(HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace plait
