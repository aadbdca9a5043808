#include "plait/load/pack_cache.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "plait/load/weights.h"

// The writer; what a cache finds and keeps of a model is tested with the engine
// (tests/system/pack_cache_test).
namespace plait::load {
namespace {

namespace fs = std::filesystem;

class PackCacheWriterTest : public testing::Test {
  protected:
    PackCacheWriterTest() : image_(24 << 20) {
        std::string name = (fs::temp_directory_path() / "plait-writer-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
        for (size_t i = 0; i < image_.size(); ++i) image_[i] = static_cast<std::byte>(i % 251);
    }
    ~PackCacheWriterTest() override { fs::remove_all(folder_); }

    fs::path path() const { return folder_ / "cache" / "file.packed"; }
    PackCacheWriter::Task task() const { return {.path = path(), .key = "key", .images = {image_}}; }
    bool is_whole() const {
        const auto file = PackedFile::open(path(), {"key", {static_cast<int64_t>(image_.size())}});
        if (file) file->verify();
        return file.has_value();
    }
    // Time for the thread to be done.
    bool appears() const {
        for (int tries = 0; tries < 3000 && !fs::exists(path()); ++tries) ::usleep(10000);
        return fs::exists(path());
    }

    fs::path folder_;
    std::vector<std::byte> image_;
};

TEST_F(PackCacheWriterTest, WritesByItself) {
    PackCacheWriter writer(task());
    EXPECT_TRUE(appears());
    EXPECT_TRUE(is_whole());
    writer.finish();
    writer.finish();
    EXPECT_TRUE(is_whole());
}

TEST_F(PackCacheWriterTest, IsDoneWhenItEnds) {
    for (const unsigned wait : {0u, 1000u, 3000u, 10000u, 30000u}) {
        {
            PackCacheWriter writer(task());
            ::usleep(wait);
        }
        EXPECT_TRUE(is_whole()) << wait;
        fs::remove(path());
    }
}

TEST_F(PackCacheWriterTest, SeveralWriteTheSameFile) {
    {
        std::vector<std::unique_ptr<PackCacheWriter>> writers;
        for (int i = 0; i < 4; ++i) writers.push_back(std::make_unique<PackCacheWriter>(task()));
    }
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), {}), 1);
}

TEST_F(PackCacheWriterTest, WritesNothingOfAFileThatChanged) {
    const fs::path source = folder_ / "source";
    std::ofstream(source) << "weights";
    PackCacheWriter::Task changed = task();
    changed.sources.emplace_back(source, *identify_file(source));
    PackCacheWriter(changed).finish();
    EXPECT_TRUE(is_whole());
    fs::remove(path());
    std::ofstream(source) << "other weights";
    PackCacheWriter(changed).finish();
    EXPECT_FALSE(fs::exists(path()));
    fs::remove(source);
    PackCacheWriter(changed).finish();
    EXPECT_FALSE(fs::exists(path()));
}

TEST_F(PackCacheWriterTest, NoRoomAndNoFolderAreNoFailures) {
    PackCacheWriter::Task large = task();
    large.most_bytes = 1 << 20;
    PackCacheWriter(large).finish();
    EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
    PackCacheWriter::Task nowhere = task();
    std::ofstream(folder_ / "file") << "no folder";
    nowhere.path = folder_ / "file" / "cache" / "file.packed";
    PackCacheWriter(nowhere).finish();
    fs::remove(folder_ / "cache");
    EXPECT_FALSE(fs::exists(path()));
}

TEST(PackCache, WithoutAFolderHasNothing) {
    const PackCache cache;
    EXPECT_FALSE(cache.found());
    EXPECT_TRUE(cache.images(0).empty());
    EXPECT_EQ(cache.keep(Weights()), nullptr);
}

}  // namespace
}  // namespace plait::load
