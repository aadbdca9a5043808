#include "plait/base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include "plait/base/error.h"

namespace plait {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class AtomicFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::path(::testing::TempDir()) / ("plait_atomic_file_" + std::string(test->name()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    size_t files() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }

    fs::path folder_;
};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string contents(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

TEST_F(AtomicFileTest, AppearsOnlyWhenCommitted) {
    const fs::path path = folder_ / "out";
    {
        AtomicFile file(path);
        file.write(bytes_of("hello "));
        file.write(bytes_of("world"));
        EXPECT_EQ(file.position(), 11u);
        EXPECT_FALSE(fs::exists(path));
        file.commit();
        EXPECT_EQ(contents(path), "hello world");
    }
    EXPECT_EQ(contents(path), "hello world");
    EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
    const fs::path path = folder_ / "out";
    std::ofstream(path) << "old";
    {
        AtomicFile file(path);
        file.write(bytes_of("new"));
    }
    EXPECT_EQ(contents(path), "old");
    EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, EmptyAndManySizesAroundTheBuffer) {
    const std::string big(3'000'001, 'x');
    std::string expected;
    AtomicFile file(folder_ / "out");
    for (const size_t size : {size_t{0}, size_t{1}, size_t{1 << 20}, size_t{(1 << 20) - 1}, big.size()}) {
        file.write(bytes_of(big).first(size));
        file.write(bytes_of("|"));
        expected += big.substr(0, size) + "|";
    }
    file.commit();
    EXPECT_TRUE(contents(folder_ / "out") == expected);
}

TEST_F(AtomicFileTest, WritesBackInBetween) {
    AtomicFile file(folder_ / "out");
    for (const char* text : {"one ", "two ", "three"}) {
        file.write(bytes_of(text));
        file.start_writeback();
        EXPECT_EQ(files(), 0u);
    }
    file.commit();
    EXPECT_EQ(contents(folder_ / "out"), "one two three");
}

TEST_F(AtomicFileTest, TwoWritersOfOneNameDoNotMix) {
    const fs::path path = folder_ / "out";
    AtomicFile first(path);
    AtomicFile second(path);
    first.write(bytes_of("first"));
    second.write(bytes_of("second"));
    second.commit();
    EXPECT_EQ(contents(path), "second");
    first.commit();
    EXPECT_EQ(contents(path), "first");
}

TEST_F(AtomicFileTest, FollowsALinkAndKeepsIt) {
    std::ofstream(folder_ / "real") << "old";
    fs::create_symlink("real", folder_ / "link");
    AtomicFile file(folder_ / "link");
    file.write(bytes_of("new"));
    file.commit();
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(contents(folder_ / "real"), "new");
}

TEST_F(AtomicFileTest, ReplacesALinkWhereAskedAndLeavesWhatItPointsTo) {
    std::ofstream(folder_ / "real") << "old";
    for (const char* target : {"real", "nothing"}) {
        fs::remove(folder_ / "link");
        fs::create_symlink(target, folder_ / "link");
        AtomicFile file(folder_ / "link", AtomicFile::Link::replace);
        file.write(bytes_of("new"));
        file.commit();
        EXPECT_FALSE(fs::is_symlink(folder_ / "link"));
        EXPECT_EQ(contents(folder_ / "link"), "new");
        EXPECT_EQ(contents(folder_ / "real"), "old");
        EXPECT_FALSE(fs::exists(folder_ / "nothing"));
    }
}

TEST_F(AtomicFileTest, RespectsTheUmask) {
    const mode_t before = ::umask(022);
    AtomicFile file(folder_ / "out");
    file.commit();
    ::umask(before);
    EXPECT_EQ(static_cast<unsigned>(fs::status(folder_ / "out").permissions()), 0644u);
}

TEST_F(AtomicFileTest, SaysWhatIsWrong) {
    const fs::path nowhere = folder_ / "missing" / "out";
    EXPECT_THAT([&] { AtomicFile file(nowhere); },
                ThrowsMessage<Error>(AllOf(HasSubstr(nowhere.string()), HasSubstr("No such file"))));
    EXPECT_THAT([&] { AtomicFile file(folder_); }, ThrowsMessage<Error>(HasSubstr("not a regular file")));
    EXPECT_THAT([&] { AtomicFile file("/dev/null"); }, ThrowsMessage<Error>(HasSubstr("not a regular file")));
}

// A file size limit stands in for a full disk: both make write() fail half-way.
TEST_F(AtomicFileTest, AFailedWriteLeavesTheTargetAlone) {
    const fs::path path = folder_ / "out";
    std::ofstream(path) << "old";
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
    {
        AtomicFile file(path);
        ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
        EXPECT_THAT([&] { file.write(bytes_of(std::string(3 << 20, 'x'))); },
                    ThrowsMessage<Error>(HasSubstr("File too large")));
    }
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old_handler);
    EXPECT_EQ(contents(path), "old");
    EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace plait
