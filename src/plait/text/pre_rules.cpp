#include "plait/text/pre_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "plait/base/error.h"
#include "plait/base/quote.h"

namespace plait::text {
namespace {

// The patterns are the published ones (tokenizer.json of each family), with one change: their \s and \S mean
// Unicode's White_Space, while PCRE2's also take in U+180E. WS is that property, to be put inside brackets. A
// macro, because only literals concatenate at compile time.
#define WS R"(\p{Z}\x09-\x0D\x85)"

// Contractions; a word, a number or other signs, with the space before it; spaces, leaving one to the next
// word.
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)" WS
                                   R"(\p{L}\p{N}]+|[)" WS R"(]+(?![^)" WS R"(])|[)" WS R"(]+)";

constexpr std::string_view kOneDigit = R"(\p{N})";

// Llama 3 and its relatives: contractions in any case, any one sign before a word, lines end with their
// signs. They differ in how many digits a number's piece has.
#define LLAMA3(DIGITS)                                                               \
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)" DIGITS R"(| ?[^)" WS \
    R"(\p{L}\p{N}]+[\r\n]*|[)" WS R"(]*[\r\n]+|[)" WS R"(]+(?![^)" WS R"(])|[)" WS R"(]+)"

constexpr std::string_view kLlama3 = LLAMA3(R"(\p{N}{1,3})");
constexpr std::string_view kQwen2 = LLAMA3(R"(\p{N})");

#undef LLAMA3
#undef WS

const std::vector<PreRule>& pre_rules() {
    static const std::vector<PreRule> rules = {
        {.names = {"gpt-2", "default", "", "phi-2", "mpt", "olmo", "jais"}, .patterns = {kGpt2}},
        {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"},
         .patterns = {kOneDigit, kGpt2}},
        {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "lfm2"},
         .patterns = {kLlama3},
         .whole_tokens = true,
         .adds_bos = true},
        {.names = {"qwen2", "deepseek-r1-qwen", "stablelm2"}, .patterns = {kQwen2}},
    };
    return rules;
}

std::string known_names() {
    std::string known;
    for (const PreRule& rule : pre_rules())
        for (const std::string_view name : rule.names)
            if (!name.empty()) known.append(known.empty() ? "" : ", ").append(name);
    return known;
}

}  // namespace

const PreRule& find_pre_rule(std::string_view name) {
    for (const PreRule& rule : pre_rules())
        if (std::ranges::find(rule.names, name) != rule.names.end()) return rule;
    throw Error(fmt::format("pre-tokenizer {} is unknown: choose one with --pre NAME, of {}", quote(name),
                            known_names()));
}

}  // namespace plait::text
