#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace plait {

// Writes a file that appears under its name only when it is whole: the bytes go to a neighbour
// "<name>.partial.<pid>.<n>", which commit() flushes to the disk and renames over the target. An object
// destroyed without commit() removes the neighbour and leaves the target as it was; a killed process leaves
// the neighbour. Used by one thread at a time.
class AtomicFile {
  public:
    // Throws Error when the folder cannot be written to, or when the target exists and is not a regular file
    // (so that a device or a folder is never replaced). A symbolic link as target is followed.
    explicit AtomicFile(const std::filesystem::path& path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    // Appends; buffered, so small writes are cheap. Throws Error (a full disk, say).
    void write(std::span<const std::byte> bytes);
    // Bytes written so far.
    uint64_t position() const { return position_; }
    // Makes the file visible. Called once, last; throws Error and leaves the target untouched on failure.
    void commit();

  private:
    void open_partial();
    void flush();
    void write_through(std::span<const std::byte> bytes);
    [[noreturn]] void fail(int error) const;

    std::filesystem::path target_;
    std::filesystem::path partial_;
    int fd_ = -1;
    bool committed_ = false;
    uint64_t position_ = 0;
    std::vector<std::byte> buffer_;
};

}  // namespace plait
