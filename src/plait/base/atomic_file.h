#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace plait {

// Writes a file that appears under its name only when it is whole: the bytes go to a file without a name in
// the same folder, which commit() flushes to the disk, names "<name>.partial.<pid>.<n>" for a moment and
// renames over the target. An object destroyed without commit() leaves the target as it was and nothing else,
// and so does a killed process (where the file system knows no files without names, that one leaves the
// neighbour). Used by one thread at a time.
class AtomicFile {
  public:
    // What becomes of a symbolic link as target: what it points to is written, or the link makes room.
    enum class Link { follow, replace };

    // Throws Error when the folder cannot be written to, or when the target exists and is not a regular file
    // (so that a device or a folder is never replaced).
    explicit AtomicFile(const std::filesystem::path& path, Link link = Link::follow);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    // Appends; buffered, so small writes are cheap. Throws Error (a full disk, say).
    void write(std::span<const std::byte> bytes);
    // Begins to bring what was written so far, all but the last piece, to the disk, so that little of a large
    // file is left to wait for in commit(), and that unwritten pages do not pile up in memory.
    void start_writeback();
    // Bytes written so far.
    uint64_t position() const { return position_; }
    // Makes the file visible. Called once, last; throws Error and leaves the target untouched on failure.
    void commit();

  private:
    void open_partial();
    void claim_name(const std::function<bool(const char*)>& make);
    void give_name();
    void flush();
    void write_through(std::span<const std::byte> bytes);
    [[noreturn]] void fail(int error) const;

    std::filesystem::path target_;
    std::filesystem::path partial_;  // empty while the file has no name
    int fd_ = -1;
    bool committed_ = false;
    uint64_t position_ = 0;
    std::vector<std::byte> buffer_;
};

}  // namespace plait
