#pragma once

#include <cstdint>
#include <filesystem>

// The folder of a cache, which several processes use at once and anybody may clear at any time. All functions
// may be called from any thread.
namespace plait::load {

// Makes the folder and what is missing above it, for its owner alone (mode 0700). Throws Error.
void make_cache_folder(const std::filesystem::path& folder);

// Marks a file as used now: what was used last is removed last. Where it cannot be marked, it is not.
void mark_used(const std::filesystem::path& file);

// Makes room for a file of so many bytes: as long as it and the files in the folder are more than
// `most_bytes` (0: a fifth of what these and the disk's free space come to), the one whose last use is
// longest ago is removed. Those mapped by a process stay valid there. A former version of `file` is no
// obstacle. False, and nothing is removed, where there cannot be room, or this process may not write files of
// this size.
bool make_room(const std::filesystem::path& file, int64_t bytes, int64_t most_bytes);

}  // namespace plait::load
