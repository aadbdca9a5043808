#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace plait {

// Tells a file from every other, and from itself before and after it was written to.
struct FileIdentity {
    uint64_t device = 0;
    uint64_t inode = 0;
    uint64_t bytes = 0;
    int64_t modified_seconds = 0;
    int64_t modified_nanoseconds = 0;
    bool operator==(const FileIdentity&) const = default;
};
// Of what the path leads to now; nothing when that is nothing. Any thread.
std::optional<FileIdentity> identify_file(const std::filesystem::path& path);

// A whole regular file mapped read-only. The bytes stay where they are for the life of the object and of
// whatever it is moved into. Reading is thread-safe. Pages come from the page cache on first touch; if
// another process shortens the file meanwhile, touching a lost page raises SIGBUS, as with every mapping.
class MappedFile {
  public:
    // Throws Error when the path cannot be opened or is not a regular file (directories, pipes and devices
    // are refused without blocking on them). An empty file maps to no bytes.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    // Page-aligned.
    std::span<const std::byte> bytes() const { return bytes_; }
    // Of the file when it was opened.
    const FileIdentity& identity() const { return identity_; }

    // Gives up the pages that hold `part`, of bytes(), and that would count as this process's memory; they
    // come back on the next touch. Thread-safe.
    void forget(std::span<const std::byte> part) const;

  private:
    void unmap();

    std::span<const std::byte> bytes_;
    FileIdentity identity_;
};

}  // namespace plait
