#include "plait/text/hostile.h"

#include <pthread.h>
#include <time.h>

#include "plait/base/ensure.h"

namespace plait::text {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStack = 8 * kMiB;
#else
constexpr size_t kStack = kMiB;
#endif

double thread_seconds() {
    timespec time;
    ENSURE(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0, "clock_gettime");
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string many_letters() {
    std::string letters;
    for (size_t i = 0; letters.size() < kHostileBytes; ++i) letters += static_cast<char>('a' + i * i % 26);
    return letters;
}

std::vector<HostileText> make_texts() {
    std::vector<HostileText> texts = {
        {"letters", many_letters()},
        {"spaces and a letter", repeated(" ") + "a"},
        {"spaces and a digit", repeated(" ") + "1"},
        {"spaces and a line feed", repeated(" ") + "\n"},
        {"a sign, line feeds, spaces", "!" + repeated("\n") + repeated(" ") + "!"},
        {"capitals and a letter", repeated("A") + "a"},
        {"digits and a letter", repeated("7") + "a"},
    };
    // Units; the commonest first.
    for (const char* unit :
         {"a",          "A",      "aB",       "strand", "a ",         " ",        "\t",     " \t",
          "\n",         "\r\n",   " \n",      "=",      "!",          "! ",       "!a",     "7",
          "7 ",         "'",      "'s",       "\u0301", "a\u0301",    "\u00E9",   "\u4E00", "\u4E00a",
          "\u3042",     "\uAC00", "\u0E01",   "\u0663", "\u3001",     "\u00A0",   "\u180E", "\u2581",
          "\U0001F9F6", "\xFF",   "\xE2\x82", "a\x80",  "<|im_end|>", "<|im_end|"})
        texts.push_back({std::string("many '") + unit + "'", repeated(unit)});
    return texts;
}

}  // namespace

const std::vector<HostileText>& hostile_texts() {
    static const std::vector<HostileText> texts = make_texts();
    return texts;
}

std::string repeated(std::string_view unit, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += unit;
    return text;
}

double seconds_on_small_stack(std::function<void()> work) {
    double seconds = 0;
    std::function<void()> timed = [&] {
        const double begin = thread_seconds();
        work();
        seconds = thread_seconds() - begin;
    };
    pthread_attr_t attributes;
    ENSURE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, kStack) == 0,
           "pthread_attr");
    const auto call = [](void* function) -> void* {
        (*static_cast<std::function<void()>*>(function))();
        return nullptr;
    };
    pthread_t thread;
    ENSURE(pthread_create(&thread, &attributes, call, &timed) == 0, "pthread_create");
    ENSURE(pthread_join(thread, nullptr) == 0, "pthread_join");
    pthread_attr_destroy(&attributes);
    return seconds;
}

}  // namespace plait::text
