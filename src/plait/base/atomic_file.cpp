#include "plait/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait {
namespace {

namespace fs = std::filesystem;

// What the system is given at a time, from a multiple of it on: then it can keep the file's contents in
// pieces as large as a large page, which a mapping of the file can use.
constexpr size_t kBufferBytes = 2 << 20;

// Where the bytes shall end up: what `path` points to if it is a link that is followed, else `path` itself.
fs::path resolved_target(const fs::path& path, AtomicFile::Link link) {
    std::error_code error;
    if (link == AtomicFile::Link::replace && fs::is_symlink(fs::symlink_status(path, error))) return path;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return path;
    if (!fs::is_regular_file(status))
        throw Error(fmt::format("cannot write {}: it exists and is not a regular file", path.string()));
    const fs::path target = fs::canonical(path, error);
    return error ? path : target;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path, Link link) : target_(resolved_target(path, link)) {
    buffer_.reserve(kBufferBytes);
    open_partial();
}

AtomicFile::~AtomicFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!committed_ && !partial_.empty()) ::unlink(partial_.c_str());
}

// A file without a name vanishes with the process, however that ends; where the file system has none, one
// with a name of our own (mkstemp would force mode 0600 on the result).
void AtomicFile::open_partial() {
    const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
    fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd_ >= 0) return;
    if (errno != EOPNOTSUPP && errno != EISDIR) fail(errno);
    claim_name([this](const char* name) {
        fd_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        return fd_ >= 0;
    });
}

// Finds a neighbour of the target that does not exist yet and that `make` can make.
void AtomicFile::claim_name(const std::function<bool(const char*)>& make) {
    constexpr int kAttempts = 1000;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        fs::path name = target_;
        name += fmt::format(".partial.{}.{}", ::getpid(), attempt);
        if (make(name.c_str())) {
            partial_ = name;
            return;
        }
        if (errno != EEXIST) fail(errno);
    }
    fail(EEXIST);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    ENSURE(!committed_, "write after commit");
    position_ += bytes.size();
    while (!bytes.empty()) {
        if (buffer_.empty() && bytes.size() >= kBufferBytes) {
            const size_t whole = bytes.size() / kBufferBytes * kBufferBytes;
            write_through(bytes.first(whole));
            bytes = bytes.subspan(whole);
            continue;
        }
        const auto part = bytes.first(std::min(bytes.size(), kBufferBytes - buffer_.size()));
        buffer_.insert(buffer_.end(), part.begin(), part.end());
        bytes = bytes.subspan(part.size());
        if (buffer_.size() == kBufferBytes) flush();
    }
}

void AtomicFile::start_writeback() {
    // Only advice: what goes wrong with the disk is seen in commit().
    ::sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WRITE);
}

void AtomicFile::commit() {
    ENSURE(!committed_, "commit twice");
    flush();
    if (::fsync(fd_) != 0) fail(errno);
    if (partial_.empty()) give_name();
    if (::rename(partial_.c_str(), target_.c_str()) != 0) fail(errno);
    committed_ = true;
}

// A link cannot replace the target, a rename can: the name exists for that moment only.
void AtomicFile::give_name() {
    const std::string self = fmt::format("/proc/self/fd/{}", fd_);
    claim_name([&self](const char* name) {
        return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    });
}

void AtomicFile::flush() {
    write_through(buffer_);
    buffer_.clear();
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(errno);
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
}

void AtomicFile::fail(int error) const {
    throw Error(fmt::format("cannot write {}: {}", target_.string(), std::generic_category().message(error)));
}

}  // namespace plait
