#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "plait/load/pack_key.h"
#include "plait/load/packed_file.h"

// Packed weights on the disk, so that the next start of a model maps what this one packed.
namespace plait::load {

struct Weights;

struct PackCacheOptions {
    std::string folder;              // empty: nothing is kept or looked for
    int64_t least_bytes = 16 << 20;  // packing fewer takes no time worth a file
    int64_t most_bytes = 0;          // of all files together; 0: see make_room()
    bool verify = false;             // read the whole file and compare its hashes before it is used
};

// Writes packed weights on a thread of the lowest priority, which leaves the cores to those that compute.
// finish(), and the destructor, do what is left themselves. What goes wrong is said in one line of the log,
// and the file is not written. finish() is for one thread.
class PackCacheWriter {
  public:
    struct Task {
        std::filesystem::path path;
        std::string key;
        std::vector<std::span<const std::byte>> images;
        int64_t most_bytes = 0;
        std::vector<std::pair<std::filesystem::path, FileIdentity>> sources;  // the model's files, as packed
    };

    explicit PackCacheWriter(Task task);
    ~PackCacheWriter() { finish(); }
    PackCacheWriter(const PackCacheWriter&) = delete;
    PackCacheWriter& operator=(const PackCacheWriter&) = delete;

    // Returns when the file is there, or will not be.
    void finish();

  private:
    void work_in_background();
    void work(bool in_background) noexcept;
    bool begin();
    void end();
    bool sources_changed() const;

    const Task task_;
    const int64_t file_bytes_;
    std::optional<PackedFileWriter> file_;
    std::atomic<bool> handed_over_{false};  // the thread is to leave what is left
    std::atomic<bool> done_{false};
    std::thread thread_;
};

// What a cache has of one model on one device, decided once: all its packed weights, or nothing.
class PackCache {
  public:
    PackCache() = default;  // keeps nothing
    // Looks for the model's file. One that is damaged, or not what was expected, counts as missing; a line in
    // the log says so. Never throws for what is on the disk.
    PackCache(const PackCacheOptions& options, const ModelWeights& weights);

    // Whether weights come from it.
    bool found() const { return file_.has_value(); }
    // By member, images of a weight as Buffer::images(); empty when it has to be loaded.
    std::vector<device::Image> images(size_t weight) const;

    // Begins to write the weights, which must outlive the writer and not change. Nothing when they came from
    // here, or are not to be kept.
    std::unique_ptr<PackCacheWriter> keep(const Weights& weights) const;

  private:
    void look(bool verify);

    PackCacheOptions options_;
    std::vector<PackedPart> parts_;
    int members_ = 0;
    PackedFileContents contents_;
    std::vector<std::pair<std::filesystem::path, FileIdentity>> sources_;
    std::filesystem::path path_;  // empty: nothing is kept
    std::optional<PackedFile> file_;
};

}  // namespace plait::load
