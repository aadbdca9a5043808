#include "plait/load/cache_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <vector>

#include "plait/base/error.h"

namespace plait::load {
namespace {

namespace fs = std::filesystem;

// Of the disk, in the folder that the file would be in.
int64_t free_bytes(const fs::path& folder) {
    struct statvfs status {};
    if (::statvfs(folder.c_str(), &status) != 0) return 0;
    return static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
}

bool may_write(int64_t bytes) {
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    return limit.rlim_cur == RLIM_INFINITY || static_cast<rlim_t>(bytes) <= limit.rlim_cur;
}

struct CachedFile {
    fs::path path;
    int64_t bytes = 0;
    fs::file_time_type used;
};

// What a killed process left of a file; one that is at work is younger.
bool is_left_over(const CachedFile& file) {
    constexpr auto kOld = std::chrono::hours(24);
    return file.path.filename().string().find(".partial.") != std::string::npos &&
           file.used < fs::file_time_type::clock::now() - kOld;
}

// Regular files, oldest use first. Others may remove them meanwhile.
std::vector<CachedFile> files_in(const fs::path& folder) {
    std::vector<CachedFile> files;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code gone;
        if (!entry->is_regular_file(gone) || entry->is_symlink(gone)) continue;
        CachedFile file{.path = entry->path()};
        file.bytes = static_cast<int64_t>(entry->file_size(gone));
        if (!gone) file.used = entry->last_write_time(gone);
        if (!gone) files.push_back(std::move(file));
    }
    std::ranges::sort(files, {}, &CachedFile::used);
    return files;
}

}  // namespace

void make_cache_folder(const fs::path& folder) {
    if (folder.empty() || ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
    int error = errno;
    if (error == ENOENT && folder.has_relative_path()) {
        make_cache_folder(folder.parent_path());
        if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
        error = errno;
    }
    throw Error(fmt::format("cannot make {}: {}", folder.string(), std::generic_category().message(error)));
}

void mark_used(const fs::path& file) { (void)::utimensat(AT_FDCWD, file.c_str(), nullptr, 0); }

bool make_room(const fs::path& file, int64_t bytes, int64_t most_bytes) {
    std::vector<CachedFile> files = files_in(file.parent_path());
    std::erase_if(files, [&](const CachedFile& other) { return other.path == file; });
    int64_t held = 0;
    for (const CachedFile& other : files) held += other.bytes;
    int64_t free = free_bytes(file.parent_path());
    const int64_t most = most_bytes > 0 ? most_bytes : (free + held) / 5;
    if (bytes > most || bytes > free + held || !may_write(bytes)) return false;
    for (const CachedFile& other : files) {
        if (!is_left_over(other) && held + bytes <= most && bytes <= free) continue;
        std::error_code error;
        if (!fs::remove(other.path, error)) continue;
        held -= other.bytes;
        free += other.bytes;
    }
    return held + bytes <= most && bytes <= free;
}

}  // namespace plait::load
