#include "plait/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

namespace plait {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free,
              "the kernel reads the atomic as a plain 32-bit word");

void futex(const std::atomic<uint32_t>& word, int operation, uint32_t value) {
    syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

}  // namespace

void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected) { futex(word, FUTEX_WAIT, expected); }

void futex_wake_all(const std::atomic<uint32_t>& word) {
    futex(word, FUTEX_WAKE, static_cast<uint32_t>(std::numeric_limits<int>::max()));
}

}  // namespace plait
