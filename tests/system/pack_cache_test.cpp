#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "plait/tools/synth.h"
#include "support.h"

// Packed weights that a start finds on the disk are those it would have packed, or it packs them.
namespace plait::system_test {
namespace {

namespace fs = std::filesystem;
using engine::Engine;
using engine::EngineOptions;
using engine::Prepared;

constexpr const char* kSize = "layers=2,width=256,heads=4,kv_heads=2,ffn=768,vocab=300,ctx=128";

class PackCacheTest : public testing::Test {
  protected:
    PackCacheTest() {
        std::string name = (fs::temp_directory_path() / "plait-pack-cache-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
        write_model(1);
    }
    ~PackCacheTest() override { fs::remove_all(folder_); }

    void write_model(uint64_t seed, const std::string& type = "Q4_K_M") const {
        tools::synth({.arch = "llama", .size = kSize, .type = type, .out = model_path(), .seed = seed});
    }
    fs::path model_path() const { return folder_ / "model.gguf"; }
    fs::path cache() const { return folder_ / "cache"; }

    EngineOptions options(const std::string& devices = "cpu") const {
        EngineOptions options = options_for(model_path(), 128);
        options.devices = devices;
        options.pack_cache.folder = cache().string();
        options.pack_cache.least_bytes = 0;
        return options;
    }
    static std::vector<float> logits(const EngineOptions& options) {
        return all_logits(options, random_ids(40, 300, 1));
    }
    static std::vector<float> logits_without(EngineOptions options) {
        options.pack_cache.folder.clear();
        return logits(options);
    }
    static bool found(const EngineOptions& options) { return engine::prepare(options).pack_cache.found(); }
    std::vector<fs::path> files() const {
        std::vector<fs::path> files;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(cache(), none)) files.push_back(entry.path());
        return files;
    }
    // Starts twice and compares with what a start without a cache computes.
    void expect_equal_bits(const EngineOptions& asked) const {
        const std::vector<float> expected = logits_without(asked);
        EXPECT_FALSE(found(asked));
        EXPECT_EQ(logits(asked), expected) << "packs";
        ASSERT_TRUE(found(asked));
        EXPECT_EQ(logits(asked), expected) << "maps";
    }

    fs::path folder_;
};

TEST_F(PackCacheTest, BitsAreTheSame) {
    for (const char* devices : {"cpu", "cpu*2", "cpu*3"}) {
        SCOPED_TRACE(devices);
        expect_equal_bits(options(devices));
    }
    EXPECT_EQ(files().size(), 3u);
    for (const char* devices : {"cpu", "cpu*2", "cpu*3"}) EXPECT_TRUE(found(options(devices))) << devices;
}

TEST_F(PackCacheTest, SharesAndModesAreTheirOwn) {
    EngineOptions asked = options("cpu*2");
    expect_equal_bits(asked);
    asked.split.shares = {2, 1};
    expect_equal_bits(asked);
    asked.split.shares.clear();
    asked.split.mode = engine::SplitMode::row;
    expect_equal_bits(asked);
    EXPECT_EQ(files().size(), 3u);
}

TEST_F(PackCacheTest, EveryFormatThatIsPacked) {
    for (const char* type : {"Q4_0", "Q8_0", "Q5_1", "Q6_K", "IQ4_XS"}) {
        SCOPED_TRACE(type);
        write_model(1, type);
        expect_equal_bits(options("cpu*2"));
    }
}

TEST_F(PackCacheTest, WhatIsMappedIsNotStored) {
    const auto needs = [](const EngineOptions& asked) { return engine::prepare(asked).members; };
    const auto before = needs(options("cpu*2"));
    (void)logits(options("cpu*2"));
    Prepared prepared = engine::prepare(options("cpu*2"));
    for (size_t m = 0; m < before.size(); ++m) {
        EXPECT_LT(prepared.members[m].weights, before[m].weights / 8);
        EXPECT_EQ(prepared.members[m].all_weights(), before[m].all_weights());
        EXPECT_EQ(prepared.members[m].mirrored, before[m].mirrored);
    }
    const auto planned = prepared.members;
    const Engine engine(std::move(prepared));
    for (size_t m = 0; m < planned.size(); ++m) {
        EXPECT_NEAR(static_cast<double>(engine.stored_bytes()[m]), static_cast<double>(planned[m].total()),
                    65536);
    }
}

TEST_F(PackCacheTest, NothingIsKeptUnlessAskedFor) {
    (void)logits(options("sim"));
    EngineOptions asked = options();
    asked.pack_cache.least_bytes = 16 << 20;
    (void)logits(asked);
    asked = options();
    asked.use_mapping = false;
    (void)logits(asked);
    asked = options();
    asked.repack = false;
    (void)logits(asked);
    EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(PackCacheTest, AnotherModelFileIsAnotherModel) {
    const auto kept = logits(options());
    ASSERT_TRUE(found(options()));
    const auto time = fs::last_write_time(model_path());
    fs::last_write_time(model_path(), time + std::chrono::nanoseconds(1));
    EXPECT_FALSE(found(options())) << "touched";
    fs::last_write_time(model_path(), time);
    EXPECT_TRUE(found(options()));
    fs::copy_file(model_path(), folder_ / "copy.gguf");
    fs::last_write_time(folder_ / "copy.gguf", time);
    EngineOptions copy = options();
    copy.model = (folder_ / "copy.gguf").string();
    EXPECT_FALSE(found(copy)) << "another file";
    fs::remove(folder_ / "copy.gguf");
    write_model(2);
    EXPECT_FALSE(found(options())) << "other values";
    EXPECT_NE(logits(options()), kept);
    expect_equal_bits([&] {
        write_model(3);
        return options();
    }());
}

// The file is written over while it is packed from: what was packed may be of either.
TEST_F(PackCacheTest, AFileThatChangesMeanwhileIsNotKept) {
    Prepared prepared = engine::prepare(options());
    fs::last_write_time(model_path(), fs::last_write_time(model_path()) + std::chrono::seconds(1));
    { const Engine engine(std::move(prepared)); }
    EXPECT_TRUE(files().empty());
}

TEST_F(PackCacheTest, DamagedFilesAreWrittenAnew) {
    const auto expected = logits(options());
    ASSERT_EQ(files().size(), 1u);
    const fs::path file = files().front();
    const auto size = fs::file_size(file);
    for (const uintmax_t length :
         {uintmax_t{0}, uintmax_t{31}, uintmax_t{4096}, size / 2, size - 1, size + 1}) {
        fs::resize_file(file, length);
        EXPECT_FALSE(found(options())) << length;
        EXPECT_EQ(logits(options()), expected) << length;
        EXPECT_TRUE(found(options())) << length;
        EXPECT_EQ(fs::file_size(file), size);
    }
}

TEST_F(PackCacheTest, VerifyingFindsADamagedImage) {
    const auto expected = logits(options());
    ASSERT_EQ(files().size(), 1u);
    std::fstream(files().front(), std::ios::in | std::ios::out | std::ios::binary)
        .seekp(5000)
        .put('\x5a')
        .put('\xa5');
    EXPECT_TRUE(found(options()));
    EngineOptions verifying = options();
    verifying.pack_cache.verify = true;
    EXPECT_FALSE(found(verifying));
    EXPECT_EQ(logits(verifying), expected);
    EXPECT_TRUE(found(verifying));
}

TEST_F(PackCacheTest, WhereNothingCanBeWrittenItRunsAll) {
    const auto expected = logits_without(options());
    std::ofstream(folder_ / "file") << "no folder";
    EngineOptions asked = options();
    for (const char* folder : {"file/packed", "file", "/proc/self/packed"}) {
        asked.pack_cache.folder = (folder_ / folder).string();
        EXPECT_EQ(logits(asked), expected) << folder;
    }
    // A folder where the file should be.
    (void)logits(options());
    ASSERT_EQ(files().size(), 1u);
    const fs::path file = files().front();
    fs::remove(file);
    fs::create_directory(file);
    EXPECT_EQ(logits(options()), expected);
    EXPECT_TRUE(fs::is_directory(file));
}

TEST_F(PackCacheTest, AFullDiskIsNoFailure) {
    const auto expected = logits_without(options());
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = before;
    small.rlim_cur = 64 << 10;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto limited = logits(options());
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(limited, expected);
    EXPECT_TRUE(files().empty());
    EngineOptions capped = options();
    capped.pack_cache.most_bytes = 64 << 10;
    EXPECT_EQ(logits(capped), expected);
    EXPECT_TRUE(files().empty());
}

TEST_F(PackCacheTest, AFileInUseMayBeRemoved) {
    const auto expected = logits(options());
    Engine engine(options());
    fs::remove_all(cache());
    EXPECT_EQ(all_logits(engine, random_ids(40, 300, 1)), expected);
    EXPECT_TRUE(files().empty()) << "it came from there";
}

TEST_F(PackCacheTest, TheOldestGivesWay) {
    (void)logits(options("cpu"));
    ASSERT_EQ(files().size(), 1u);
    const auto bytes = static_cast<int64_t>(fs::file_size(files().front()));
    fs::last_write_time(files().front(), fs::file_time_type::clock::now() - std::chrono::hours(1));
    EngineOptions second = options("cpu*2");
    second.pack_cache.most_bytes = bytes * 3 / 2;
    (void)logits(second);
    EXPECT_FALSE(found(options("cpu")));
    EXPECT_TRUE(found(options("cpu*2")));
}

// Begins before any of this process's engines, since a fork takes none of their threads along.
TEST_F(PackCacheTest, ProcessesDoNotDisturbEachOther) {
    std::vector<pid_t> children;
    for (int child = 0; child < 3; ++child) {
        const pid_t pid = ::fork();
        ASSERT_GE(pid, 0);
        if (pid == 0) {
            bool good = true;
            const auto expected = logits_without(options());
            for (int round = 0; round < 4; ++round) good = good && logits(options()) == expected;
            ::_exit(good ? 0 : 1);
        }
        children.push_back(pid);
    }
    for (const pid_t pid : children) {
        int status = 0;
        ASSERT_EQ(::waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(files().size(), 1u);
    EXPECT_TRUE(found(options()));
    EXPECT_EQ(logits(options()), logits_without(options()));
}

}  // namespace
}  // namespace plait::system_test
