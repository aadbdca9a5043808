#include "plait/tools/synth_vocabulary.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "plait/base/ensure.h"

namespace plait::tools {
namespace {

constexpr int32_t kNormal = 1;
constexpr int32_t kControl = 3;
constexpr std::string_view kSpace = "\xc4\xa0";  // how the byte 0x20 is spelled: U+0120

// The letters by their frequency in English, so that early merges occur in text.
constexpr std::string_view kLetters = "etaoinshrdlcumwfgypbvkjxqz";

bool is_printable(int byte) {
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

std::string utf8(int code) {  // below U+0800
    if (code < 0x80) return std::string(1, static_cast<char>(code));
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

// GPT-2's encoder.py, bytes_to_unicode: printable Latin-1 bytes stand for themselves, the others in order for
// U+0100 and up.
std::array<std::string, 256> byte_spellings() {
    std::array<std::string, 256> spellings;
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) spellings[byte] = utf8(is_printable(byte) ? byte : next++);
    return spellings;
}

// Space, line break, the rest of ASCII, the rest.
std::vector<std::string> ordered_bytes() {
    std::array<int, 256> order;
    std::iota(order.begin(), order.end(), 0);
    const auto rank = [](int byte) {
        if (byte == ' ') return 0;
        if (byte == '\n') return 1;
        return byte < 0x80 && is_printable(byte) ? 2 : 3;
    };
    std::ranges::stable_sort(order, {}, rank);
    const auto spellings = byte_spellings();
    std::vector<std::string> tokens;
    for (const int byte : order) tokens.push_back(spellings[byte]);
    return tokens;
}

void add(SynthVocabulary& vocabulary, std::string token, int32_t type) {
    vocabulary.tokens.push_back(std::move(token));
    vocabulary.types.push_back(type);
}

// Joins every `left` with every `right` until the vocabulary has `size` tokens. All lefts (and all rights)
// have the same number of letters and differ, so no product comes twice. Then the products, and those without
// a leading space, take their place: lengths double.
void add_merges(SynthVocabulary& vocabulary, size_t size) {
    std::vector<std::string> left = {std::string(kSpace)};
    std::vector<std::string> right;
    for (const char letter : kLetters) {
        left.emplace_back(1, letter);
        right.emplace_back(1, letter);
    }
    while (vocabulary.tokens.size() < size) {
        std::vector<std::string> longer;
        for (const std::string& l : left)
            for (const std::string& r : right) {
                if (vocabulary.tokens.size() == size) return;
                vocabulary.merges.push_back(l + " " + r);
                add(vocabulary, longer.emplace_back(l + r), kNormal);
            }
        left = std::move(longer);
        right.clear();
        std::ranges::copy_if(left, std::back_inserter(right),
                             [](const std::string& token) { return !token.starts_with(kSpace); });
    }
}

}  // namespace

SynthVocabulary synth_vocabulary(int64_t size) {
    constexpr int64_t kControls = 2;
    ENSURE(size > kControls, "synth_vocabulary");
    SynthVocabulary vocabulary{};
    vocabulary.bytes = std::min<int64_t>(size - kControls, 256);
    std::vector<std::string> bytes = ordered_bytes();
    for (int64_t i = 0; i < vocabulary.bytes; ++i) add(vocabulary, std::move(bytes[i]), kNormal);
    if (vocabulary.bytes == 256) add_merges(vocabulary, static_cast<size_t>(size - kControls));
    vocabulary.bos = static_cast<uint32_t>(vocabulary.tokens.size());
    add(vocabulary, "<|begin_of_text|>", kControl);
    vocabulary.eos = static_cast<uint32_t>(vocabulary.tokens.size());
    add(vocabulary, "<|end_of_text|>", kControl);
    return vocabulary;
}

}  // namespace plait::tools
