#include "child_runs.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plait/base/ensure.h"

namespace plait::system_test {
namespace {

bool read_all(int file, void* to, size_t bytes) {
    auto* next = static_cast<char*>(to);
    while (bytes > 0) {
        const ssize_t read = ::read(file, next, bytes);
        if (read < 0 && errno == EINTR) continue;
        if (read <= 0) return false;
        next += read;
        bytes -= static_cast<size_t>(read);
    }
    return true;
}

void write_all(int file, const void* from, size_t bytes) {
    const auto* next = static_cast<const char*>(from);
    while (bytes > 0) {
        const ssize_t written = ::write(file, next, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) _exit(1);
        next += written;
        bytes -= static_cast<size_t>(written);
    }
}

[[noreturn]] void be_child(int results, size_t first, size_t count, unsigned seconds,
                           const std::function<std::string(size_t)>& work) {
    for (size_t i = first; i < count; ++i) {
        alarm(seconds);
        const std::string text = work(i);
        const auto size = static_cast<uint64_t>(text.size());
        write_all(results, &size, sizeof(size));
        write_all(results, text.data(), text.size());
    }
    _exit(0);
}

std::string how_it_ended(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) return std::string(kDied) + strsignal(WTERMSIG(status));
    return std::string(kDied) + "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::vector<std::string> run_in_children(size_t count, unsigned seconds,
                                         const std::function<std::string(size_t)>& work,
                                         const std::function<void(size_t, const std::string&)>& done) {
    std::vector<std::string> texts;
    while (texts.size() < count) {
        int ends[2];
        ENSURE(pipe(ends) == 0, strerror(errno));
        std::fflush(nullptr);
        const pid_t child = fork();
        ENSURE(child >= 0, strerror(errno));
        if (child == 0) {
            close(ends[0]);
            be_child(ends[1], texts.size(), count, seconds, work);
        }
        close(ends[1]);
        const auto add = [&](std::string text) {
            texts.push_back(std::move(text));
            if (done) done(texts.size() - 1, texts.back());
        };
        uint64_t size = 0;
        while (texts.size() < count && read_all(ends[0], &size, sizeof(size))) {
            std::string text(size, '\0');
            if (!read_all(ends[0], text.data(), size)) break;
            add(std::move(text));
        }
        close(ends[0]);
        const std::string end = how_it_ended(child);
        if (texts.size() < count) add(end);
    }
    return texts;
}

}  // namespace plait::system_test
