#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace plait {

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

    // Gives up the pages that hold `part`, of bytes(), and that would count as this process's memory; they
    // come back on the next touch. Thread-safe.
    void forget(std::span<const std::byte> part) const;

  private:
    void unmap();

    std::span<const std::byte> bytes_;
};

}  // namespace plait
