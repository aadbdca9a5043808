#include "plait/load/packed_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include "plait/base/error.h"

namespace plait::load {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

Bytes random_bytes(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    Bytes bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

class PackedFileTest : public testing::Test {
  protected:
    PackedFileTest() {
        std::string name = (fs::temp_directory_path() / "plait-packed-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
        path_ = folder_ / "file.packed";
        for (const size_t bytes : {size_t{64}, size_t{0}, size_t{4096}, size_t{4097}, size_t{9 << 20}})
            images_.push_back(random_bytes(bytes, static_cast<uint32_t>(bytes)));
    }
    ~PackedFileTest() override { fs::remove_all(folder_); }

    PackedFileContents contents() const {
        PackedFileContents contents{key_, {}};
        for (const Bytes& image : images_) contents.image_bytes.push_back(static_cast<int64_t>(image.size()));
        return contents;
    }
    void write() const {
        PackedFileWriter writer(path_, key_, {images_.begin(), images_.end()});
        while (writer.step()) EXPECT_FALSE(fs::exists(path_)) << "it appears when it is whole";
        writer.commit();
    }
    Bytes file_bytes() const {
        std::ifstream file(path_, std::ios::binary);
        Bytes bytes(fs::file_size(path_));
        file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return bytes;
    }
    void put(std::span<const std::byte> bytes) const {
        std::ofstream file(path_, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    std::string refusal(const PackedFileContents& expected) const {
        try {
            (void)PackedFile::open(path_, expected);
        } catch (const Error& error) {
            return error.what();
        }
        return {};
    }

    fs::path folder_, path_;
    std::string key_ = "what they were made of";
    std::vector<Bytes> images_;
};

TEST_F(PackedFileTest, HasWhatWasWritten) {
    write();
    EXPECT_EQ(static_cast<int64_t>(fs::file_size(path_)), contents().file_bytes());
    const auto file = PackedFile::open(path_, contents());
    ASSERT_TRUE(file.has_value());
    for (size_t i = 0; i < images_.size(); ++i) {
        EXPECT_TRUE(std::ranges::equal(file->image(i), images_[i])) << i;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(file->image(i).data()) % kPackedFileAlignment, 0u) << i;
    }
    file->verify();
}

TEST_F(PackedFileTest, MayHoldNothing) {
    images_.clear();
    key_.clear();
    write();
    ASSERT_TRUE(PackedFile::open(path_, contents()).has_value());
    PackedFile::open(path_, contents())->verify();
}

TEST_F(PackedFileTest, IsMissingWhereNoneWasCommitted) {
    EXPECT_FALSE(PackedFile::open(path_, contents()).has_value());
    EXPECT_FALSE(PackedFile::open(folder_ / "no folder" / "file", contents()).has_value());
    PackedFileWriter(path_, key_, {images_.begin(), images_.end()}).step();
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(PackedFileTest, OtherContentsAreRefused) {
    write();
    PackedFileContents other = contents();
    other.key.back() ^= 1;
    EXPECT_THAT(refusal(other), HasSubstr("other weights"));
    other = contents();
    other.key += 'x';
    EXPECT_NE(refusal(other), "");
    other = contents();
    other.image_bytes[0] += 1;  // the rest stays where it is
    EXPECT_NE(refusal(other), "");
    other = contents();
    other.image_bytes.pop_back();
    EXPECT_NE(refusal(other), "");
    other.image_bytes.assign(images_.size(), int64_t{1} << 40);
    EXPECT_NE(refusal(other), "");
}

// Every byte that says something about the images, in every bit.
TEST_F(PackedFileTest, DamageIsSeen) {
    images_.pop_back();
    write();
    const Bytes whole = file_bytes();
    const size_t header = 32, index = whole.size() - 8 - key_.size() - images_.size() * 24;
    for (size_t at = 0; at < whole.size(); at == header - 1 ? at = index : ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            Bytes damaged = whole;
            damaged[at] ^= static_cast<std::byte>(1 << bit);
            put(damaged);
            EXPECT_THAT(refusal(contents()), HasSubstr(path_.string())) << "byte " << at << " bit " << bit;
        }
    }
    put(whole);
    EXPECT_EQ(refusal(contents()), "");
}

TEST_F(PackedFileTest, OtherLengthsAreSeen) {
    images_.pop_back();
    write();
    Bytes bytes = file_bytes();
    const Bytes whole = bytes;
    bytes.resize(bytes.size() + 1);
    put(bytes);
    EXPECT_NE(refusal(contents()), "") << "longer";
    for (size_t length = 0; length < whole.size(); length += length < 64 ? 1 : 53) {
        put(std::span(whole).first(length));
        EXPECT_NE(refusal(contents()), "") << length;
    }
    put(std::span(whole).first(whole.size() - 1));
    EXPECT_NE(refusal(contents()), "");
}

TEST_F(PackedFileTest, VerifyingFindsEveryDamagedImage) {
    images_.pop_back();
    write();
    const Bytes whole = file_bytes();
    for (const size_t at : {size_t{4096}, size_t{4096 + 63}, size_t{8192}, size_t{12288 + 4096}}) {
        Bytes damaged = whole;
        damaged[at] ^= std::byte{1};
        put(damaged);
        const auto file = PackedFile::open(path_, contents());
        ASSERT_TRUE(file.has_value());
        EXPECT_THROW(file->verify(), Error) << at;
    }
}

TEST_F(PackedFileTest, AFullDiskLeavesNothing) {
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = before;
    small.rlim_cur = 5 << 20;  // in the middle of the last image
    const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_THROW(write(), Error);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, ignored);
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(PackedFileTest, WhatIsNoFileIsRefused) {
    fs::create_directory(path_);
    EXPECT_THAT(refusal(contents()), HasSubstr("directory"));
    EXPECT_THROW(PackedFileWriter(path_, key_, {}), Error);
    EXPECT_THROW(PackedFileWriter(folder_ / "no folder" / "file", key_, {}), Error);
}

}  // namespace
}  // namespace plait::load
