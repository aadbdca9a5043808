#pragma once

#include <string_view>

namespace plait {

// Reports a broken invariant and stops the process. Never returns. Thread-safe.
[[noreturn]] void ensure_failed(const char* condition, const char* file, int line, std::string_view context);

}  // namespace plait

// An invariant of Plait itself: if it does not hold, the fault is ours and going on would only hide it.
// `context` is evaluated only on failure.
#define ENSURE(condition, context)                                             \
    do {                                                                       \
        if (!(condition)) [[unlikely]]                                         \
            ::plait::ensure_failed(#condition, __FILE__, __LINE__, (context)); \
    } while (false)

// The same for inner loops: checked in debug builds only.
#ifdef NDEBUG
#define DEBUG_ENSURE(condition, context) \
    do {                                 \
    } while (false)
#else
#define DEBUG_ENSURE(condition, context) ENSURE(condition, context)
#endif
