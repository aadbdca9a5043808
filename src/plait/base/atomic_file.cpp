#include "plait/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = 1 << 20;

// Where the bytes shall end up: what `path` points to if it is a link to a file, else `path` itself.
fs::path resolved_target(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return path;
    if (!fs::is_regular_file(status))
        throw Error(fmt::format("cannot write {}: it exists and is not a regular file", path.string()));
    const fs::path target = fs::canonical(path, error);
    return error ? path : target;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : target_(resolved_target(path)) {
    buffer_.reserve(kBufferBytes);
    open_partial();
}

AtomicFile::~AtomicFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!committed_) ::unlink(partial_.c_str());
}

// A name of our own rather than mkstemp, which would force mode 0600 on the result.
void AtomicFile::open_partial() {
    constexpr int kAttempts = 1000;
    for (int attempt = 0; attempt < kAttempts && fd_ < 0; ++attempt) {
        partial_ = target_;
        partial_ += fmt::format(".partial.{}.{}", ::getpid(), attempt);
        fd_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd_ < 0 && errno != EEXIST) fail(errno);
    }
    if (fd_ < 0) fail(EEXIST);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    ENSURE(!committed_, "write after commit");
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() >= kBufferBytes)
        write_through(bytes);
    else
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    position_ += bytes.size();
}

void AtomicFile::commit() {
    ENSURE(!committed_, "commit twice");
    flush();
    if (::fsync(fd_) != 0) fail(errno);
    if (::rename(partial_.c_str(), target_.c_str()) != 0) fail(errno);
    committed_ = true;
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
