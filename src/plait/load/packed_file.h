#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/base/atomic_file.h"
#include "plait/base/mapped_file.h"

struct XXH3_state_s;

// Files of packed weights: images, and a key that says what they were made of.
//
//     0       header: "PLAITPCK", u32 version, u32 bytes of the key, u64 number of images, u64 bytes of the
//     file 4096    images, each from a multiple of 4096 on, with zeros between behind  index: by image u64
//     offset, u64 bytes, u64 XXH3-64 of them
//             key
//             u64 XXH3-64 of header, index and key, at the end of the file
//
// Numbers are as the machine has them: a file of another kind of machine has another version. Whoever reads a
// file knows the key and how large the images are, so only files that say just that are accepted.
namespace plait::load {

inline constexpr uint32_t kPackedFileVersion = 1;
inline constexpr int64_t kPackedFileAlignment = 4096;

struct PackedFileContents {
    std::string key;
    std::vector<int64_t> image_bytes;

    // Of the file that holds them.
    int64_t file_bytes() const;
};

// A packed file mapped read-only. Thread-safe to read.
class PackedFile {
  public:
    // Nothing when there is no file. Throws Error when there is one that cannot be read or does not have
    // these contents. Does not look into the images.
    static std::optional<PackedFile> open(const std::filesystem::path& path,
                                          const PackedFileContents& contents);

    std::span<const std::byte> image(size_t index) const;
    // Reads all images and throws Error when one is not what was written.
    void verify() const;

  private:
    PackedFile(MappedFile file, const PackedFileContents& contents);
    void check(const PackedFileContents& contents) const;

    MappedFile file_;
    std::vector<int64_t> offsets_;
    std::vector<int64_t> bytes_;
    int64_t index_ = 0;  // where it begins
};

// Writes one, a little with every step. Used by one thread at a time.
class PackedFileWriter {
  public:
    // The images stay where they are, and as they are, until the last step. Throws Error when the folder
    // cannot be written to.
    PackedFileWriter(const std::filesystem::path& path, std::string key,
                     std::vector<std::span<const std::byte>> images);
    ~PackedFileWriter();

    // Some milliseconds of work; false when there is nothing left but commit(). Throws Error.
    bool step();
    // Makes the file appear, once it is on the disk. Called once, after the steps. Throws Error.
    void commit();

  private:
    struct FreeHash {
        void operator()(XXH3_state_s* state) const;
    };

    void pad_to(int64_t position);

    const std::string key_;
    const std::vector<std::span<const std::byte>> images_;
    std::vector<int64_t> offsets_;
    AtomicFile file_;
    std::vector<uint64_t> hashes_;  // of the images written
    std::unique_ptr<XXH3_state_s, FreeHash> hash_;
    size_t written_ = 0;  // of the image that is being written
};

}  // namespace plait::load
