#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plait {

// Text from outside (a file's keys, a request's strings) made fit for an error message or a terminal: in
// single quotes, control characters and bytes that are not UTF-8 written as \xNN, and after about `max_bytes`
// cut off with
// "...". Never throws anything but bad_alloc. Thread-safe.
std::string quote(std::string_view text, size_t max_bytes = 80);

}  // namespace plait
