#include "plait/base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
    throw Error(fmt::format("cannot read {}: {}", path.string(), std::generic_category().message(error)));
}

// The mapping outlives the descriptor, so the descriptor lives only as long as the constructor.
class Descriptor {
  public:
    // O_NONBLOCK: opening a pipe nobody writes to returns at once, to be refused by its kind.
    explicit Descriptor(const std::filesystem::path& path)
        : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        if (fd_ < 0) fail(path, errno);
    }
    ~Descriptor() { ::close(fd_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int get() const { return fd_; }

  private:
    int fd_;
};

FileIdentity identity_of(const struct stat& status) {
    return {.device = status.st_dev,
            .inode = status.st_ino,
            .bytes = static_cast<uint64_t>(status.st_size),
            .modified_seconds = status.st_mtim.tv_sec,
            .modified_nanoseconds = status.st_mtim.tv_nsec};
}

FileIdentity identify_regular_file(const Descriptor& file, const std::filesystem::path& path) {
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) fail(path, errno);
    if (S_ISDIR(status.st_mode))
        throw Error(fmt::format("cannot read {}: it is a directory, expected a file", path.string()));
    if (!S_ISREG(status.st_mode))
        throw Error(fmt::format("cannot read {}: it is not a regular file", path.string()));
    return identity_of(status);
}

}  // namespace

std::optional<FileIdentity> identify_file(const std::filesystem::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return identity_of(status);
}

MappedFile::MappedFile(const std::filesystem::path& path) {
    const Descriptor file(path);
    identity_ = identify_regular_file(file, path);
    const auto size = static_cast<size_t>(identity_.bytes);
    if (size == 0) return;
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (address == MAP_FAILED) fail(path, errno);
    // Only advice: file systems that keep large pieces of a file in memory can map them as large pages.
    ::madvise(address, size, MADV_HUGEPAGE);
    bytes_ = {static_cast<const std::byte*>(address), size};
}

void MappedFile::forget(std::span<const std::byte> part) const {
    if (part.empty()) return;
    ENSURE(part.data() >= bytes_.data() && part.data() + part.size() <= bytes_.data() + bytes_.size(),
           "a part of the file");
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = static_cast<size_t>(part.data() - bytes_.data()) / page * page;
    const auto end = static_cast<size_t>(part.data() - bytes_.data()) + part.size();
    // Of a shared mapping that nobody writes this drops no data. Only advice: a failure changes nothing.
    ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() { unmap(); }

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), identity_(other.identity_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    if (this != &other) {
        unmap();
        bytes_ = std::exchange(other.bytes_, {});
        identity_ = other.identity_;
    }
    return *this;
}

void MappedFile::unmap() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace plait
