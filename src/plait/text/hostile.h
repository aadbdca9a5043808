#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace plait::text {

// For tests: texts made to be slow or to need much stack, and what it takes to see whether they are.

// How large a text is, and how long it may take. With a sanitizer it is the sanitizer that takes the time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr size_t kHostileBytes = size_t{1} << 17;
inline constexpr double kSecondsAllowed = 20;
#else
inline constexpr size_t kHostileBytes = size_t{1} << 20;
inline constexpr double kSecondsAllowed = 1;
#endif

struct HostileText {
    std::string name;
    std::string text;
};

// Each of at least kHostileBytes: one piece of greatest length, or as many pieces as possible, or the
// patterns' worst backtracking, in letters, digits, white space, signs, marks, several scripts, and bytes
// that are no character.
const std::vector<HostileText>& hostile_texts();

// `unit` over and over.
std::string repeated(std::string_view unit, size_t bytes = kHostileBytes);

// Runs `work` on a thread with one MiB of stack (more under a sanitizer), and returns the processor time that
// this thread took, so that a busy machine does not fail the test.
double seconds_on_small_stack(std::function<void()> work);

}  // namespace plait::text
