#include "plait/base/ensure.h"

#include <cstdio>
#include <cstdlib>

namespace plait {

void ensure_failed(const char* condition, const char* file, int line, std::string_view context) {
    std::fprintf(stderr,
                 "plait: broken invariant: %s (%.*s) at %s:%d; this is a bug in Plait, please report it\n",
                 condition, static_cast<int>(context.size()), context.data(), file, line);
    std::abort();
}

}  // namespace plait
