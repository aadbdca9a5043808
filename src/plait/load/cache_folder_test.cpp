#include "plait/load/cache_folder.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "plait/base/error.h"

namespace plait::load {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class CacheFolder : public testing::Test {
  protected:
    CacheFolder() {
        std::string name = (fs::temp_directory_path() / "plait-cache-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
    }
    ~CacheFolder() override { fs::remove_all(folder_); }

    void put(const std::string& name, size_t bytes, int hours_ago) const {
        std::ofstream(folder_ / name) << std::string(bytes, 'x');
        fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
    }
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder_))
            names.push_back(entry.path().filename().string());
        std::ranges::sort(names);
        return names;
    }
    bool room_for(int64_t bytes, int64_t most) const { return make_room(folder_ / "new", bytes, most); }

    fs::path folder_;
};

TEST_F(CacheFolder, IsMadeForItsOwnerAlone) {
    make_cache_folder(folder_ / "a" / "b" / "c");
    make_cache_folder(folder_ / "a" / "b" / "c");
    for (const char* made : {"a", "a/b", "a/b/c"}) {
        struct stat status {};
        ASSERT_EQ(::stat((folder_ / made).c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0700u) << made;
    }
    put("file", 1, 0);
    EXPECT_THROW(make_cache_folder(folder_ / "file" / "below"), Error);
    EXPECT_THROW(make_cache_folder("/proc/self/nothing"), Error);
}

TEST_F(CacheFolder, OldestUseGoesFirst) {
    put("a", 100, 3);
    put("b", 100, 5);
    put("c", 100, 1);
    put("d", 100, 4);
    EXPECT_TRUE(room_for(100, 500));
    EXPECT_THAT(names(), ElementsAre("a", "b", "c", "d"));
    EXPECT_TRUE(room_for(100, 499));
    EXPECT_THAT(names(), ElementsAre("a", "c", "d"));
    mark_used(folder_ / "d");
    EXPECT_TRUE(room_for(200, 300));
    EXPECT_THAT(names(), ElementsAre("d"));
    EXPECT_TRUE(room_for(300, 300));
    EXPECT_THAT(names(), ElementsAre());
}

TEST_F(CacheFolder, NothingGoesForWhatHasNoRoom) {
    put("a", 100, 3);
    EXPECT_FALSE(room_for(301, 300));
    EXPECT_FALSE(room_for(int64_t{1} << 60, 0));
    EXPECT_FALSE(room_for(int64_t{1} << 60, int64_t{1} << 61));
    EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(CacheFolder, AFormerVersionIsNoObstacle) {
    put("new", 300, 0);
    put("a", 100, 3);
    EXPECT_TRUE(room_for(200, 300));
    EXPECT_THAT(names(), ElementsAre("a", "new"));
}

TEST_F(CacheFolder, LeftOversGo) {
    put("x.packed.partial.7.0", 10, 25);
    put("y.packed.partial.8.0", 10, 1);
    put("a", 100, 300);
    fs::create_directory(folder_ / "folder");
    EXPECT_TRUE(room_for(100, 1000));
    EXPECT_THAT(names(), ElementsAre("a", "folder", "y.packed.partial.8.0"));
}

TEST_F(CacheFolder, ALimitOfTheProcessIsKept) {
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = before;
    small.rlim_cur = 1000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const bool more = room_for(1001, 0), just = room_for(1000, 0);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(more);
    EXPECT_TRUE(just);
}

TEST_F(CacheFolder, NoFolderHasNoRoom) { EXPECT_FALSE(make_room(folder_ / "none" / "new", 100, 0)); }

}  // namespace
}  // namespace plait::load
