#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <functional>
#include <string>

#include "plait/base/ensure.h"
#include "plait/text/small_vocabulary.h"
#include "plait/text/tokenizer.h"

namespace plait::text {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSecondsAllowed = 20;  // what is measured is the sanitizer
constexpr size_t kStack = 8 * kMiB;
#else
constexpr double kSecondsAllowed = 1;
constexpr size_t kStack = kMiB;
#endif

// Of this thread's own work, so that a busy machine does not fail the test.
double cpu_seconds() {
    timespec time;
    ENSURE(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0, "clock_gettime");
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void on_small_stack(std::function<void()> work) {
    pthread_attr_t attributes;
    ENSURE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, kStack) == 0,
           "pthread_attr");
    const auto call = [](void* function) -> void* {
        (*static_cast<std::function<void()>*>(function))();
        return nullptr;
    };
    pthread_t thread;
    ENSURE(pthread_create(&thread, &attributes, call, &work) == 0, "pthread_create");
    ENSURE(pthread_join(thread, nullptr) == 0, "pthread_join");
    pthread_attr_destroy(&attributes);
}

std::string repeated(std::string_view unit, size_t bytes = kMiB) {
    std::string text;
    while (text.size() < bytes) text += unit;
    return text;
}

// Of each text, a MiB: one piece of greatest length, or as many pieces as possible, or the patterns' worst
// backtracking.
std::vector<std::pair<const char*, std::string>> hostile_texts() {
    std::string letters;
    for (size_t i = 0; letters.size() < kMiB; ++i) letters += static_cast<char>('a' + i * i % 26);
    return {
        {"one letter", repeated("a")},
        {"letters", letters},
        {"merging letters", repeated("strand")},
        {"spaces", repeated(" ")},
        {"spaces and a letter", repeated(" ") + "a"},
        {"spaces and a line feed", repeated(" ") + "\n"},
        {"line feeds", repeated("\n")},
        {"signs", repeated("=")},
        {"digits", repeated("7")},
        {"apostrophes", repeated("'")},
        {"ideographs", repeated("\u4E00")},
        {"spaces and tabs", repeated(" \t")},
        {"bytes that are no character", repeated("\xFF")},
        {"a special token", repeated("<|im_end|>")},
        {"almost a special token", repeated("<|im_end|")},
    };
}

class HostileText : public testing::TestWithParam<const char*> {};

TEST_P(HostileText, TakesLessThanASecondAndLittleStack) {
    const Tokenizer tokenizer(small_vocabulary().spec(GetParam()));
    for (const auto& [name, text] : hostile_texts()) {
        std::string decoded;
        double seconds = 0;
        on_small_stack([&, &text = text] {
            const double begin = cpu_seconds();
            const auto ids = tokenizer.encode(text, {.parse_special = true});
            seconds = cpu_seconds() - begin;
            decoded = tokenizer.decode(ids, {.special = true});
        });
        EXPECT_LT(seconds, kSecondsAllowed) << name;
        EXPECT_TRUE(decoded == text) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Rules, HostileText, testing::Values("gpt-2", "smollm", "llama-bpe", "qwen2"),
                         [](const auto& rule) {
                             std::string name = rule.param;
                             std::erase(name, '-');
                             return name;
                         });

// A vocabulary whose merges reach far: every doubling of a letter up to 4 KiB.
TEST(HostileVocabulary, LongTokens) {
    std::vector<std::string> tokens = {"a"}, merges;
    for (size_t size = 1; size < 4096; size *= 2) {
        merges.push_back(std::string(size, 'a') + ' ' + std::string(size, 'a'));
        tokens.emplace_back(2 * size, 'a');
    }
    const Tokenizer tokenizer(VocabSpec{
        .model = "gpt2", .tokens = {tokens.begin(), tokens.end()}, .merges = {merges.begin(), merges.end()}});
    const double begin = cpu_seconds();
    const auto ids = tokenizer.encode(repeated("a"));
    EXPECT_LT(cpu_seconds() - begin, kSecondsAllowed);
    EXPECT_EQ(ids, std::vector<int32_t>(kMiB / 4096, static_cast<int32_t>(tokens.size()) - 1));
}

TEST(HostileVocabulary, ManySpecialTokensWithOneBeginning) {
    std::vector<std::string> tokens;
    for (int i = 0; i < 50'000; ++i) tokens.push_back("<|reserved_special_token_" + std::to_string(i) + "|>");
    const Tokenizer tokenizer(VocabSpec{.model = "gpt2",
                                        .tokens = {tokens.begin(), tokens.end()},
                                        .token_types = std::vector<int32_t>(tokens.size(), 3)});
    const double begin = cpu_seconds();
    EXPECT_TRUE(tokenizer.encode(repeated("<|reserved_special_token_"), {.parse_special = true}).empty());
    EXPECT_LT(cpu_seconds() - begin, kSecondsAllowed);
    EXPECT_EQ(tokenizer.encode(tokens[49'999], {.parse_special = true}), std::vector<int32_t>{49'999});
}

}  // namespace
}  // namespace plait::text
