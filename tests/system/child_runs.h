#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// Work that may go wrong in any way, an abort of the process included.
namespace plait::system_test {

// The texts that `work` returns for 0 to count - 1, computed in child processes: one after the other in the
// same child as long as it lives. Where it dies, the text is kDied and how; so it is after `seconds` without
// a result. The calling process must have no other threads. `done` is told of each.
inline constexpr const char* kDied = "died: ";
std::vector<std::string> run_in_children(size_t count, unsigned seconds,
                                         const std::function<std::string(size_t)>& work,
                                         const std::function<void(size_t, const std::string&)>& done = {});

}  // namespace plait::system_test
