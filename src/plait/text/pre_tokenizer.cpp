#include "plait/text/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <string>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/utf8.h"

namespace plait::text {
namespace {

constexpr size_t kJitStackStart = size_t{32} << 10;
constexpr size_t kJitStackLimit = size_t{1} << 20;
constexpr uint32_t kHeapLimitKib = 64
                                   << 10;  // of the interpreter, which serves where code cannot be generated
// The longest alternative scans a run of one class and backtracks over it once.
constexpr uint64_t kStepsPerByte = 16;
constexpr uint64_t kStepsAtLeast = 1000;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string message(int code) {
    std::array<PCRE2_UCHAR, 256> buffer{};
    pcre2_get_error_message(code, buffer.data(), buffer.size());
    return reinterpret_cast<const char*>(buffer.data());
}

template <class T>
T* need(T* object) {
    if (object == nullptr) throw std::bad_alloc();
    return object;
}

bool is_invalid_byte(std::string_view piece) {
    return piece.size() == 1 && static_cast<uint8_t>(piece[0]) >= 0x80;
}

// Whole characters as long as they last, and each byte that is part of none.
std::vector<std::string_view> characters_and_strays(std::string_view text) {
    std::vector<std::string_view> pieces;
    while (!text.empty()) {
        const size_t bytes = std::max<size_t>(valid_prefix(text), 1);
        pieces.push_back(text.substr(0, bytes));
        text.remove_prefix(bytes);
    }
    return pieces;
}

}  // namespace

struct PreTokenizer::Scratch::Pcre {
    Pcre() {
        match = need(pcre2_match_data_create(1, nullptr));
        context = need(pcre2_match_context_create(nullptr));
        pcre2_set_heap_limit(context, kHeapLimitKib);
        stack = pcre2_jit_stack_create(kJitStackStart, kJitStackLimit,
                                       nullptr);  // nullptr: no code can be generated
        pcre2_jit_stack_assign(context, nullptr, stack);
    }
    ~Pcre() {
        pcre2_jit_stack_free(stack);
        pcre2_match_context_free(context);
        pcre2_match_data_free(match);
    }
    Pcre(const Pcre&) = delete;
    Pcre& operator=(const Pcre&) = delete;

    pcre2_match_data* match = nullptr;
    pcre2_match_context* context = nullptr;
    pcre2_jit_stack* stack = nullptr;
};

PreTokenizer::Scratch::Scratch() : pcre_(std::make_unique<Pcre>()) {}
PreTokenizer::Scratch::~Scratch() = default;

void PreTokenizer::FreeCode::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

PreTokenizer::PreTokenizer(const PreRule& rule) {
    for (const std::string_view pattern : rule.patterns) patterns_.push_back(compile(pattern));
}

PreTokenizer::Code PreTokenizer::compile(std::string_view pattern) {
    int error = 0;
    size_t offset = 0;
    Code code(pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    ENSURE(code != nullptr, fmt::format("pattern '{}', at {}: {}", pattern, offset, message(error)));
    // Where this fails (a system that forbids generated code), pcre2_match interprets: the same pieces,
    // slower.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    return code;
}

std::vector<std::string_view> PreTokenizer::split(std::string_view text, Scratch& scratch) const {
    std::vector<std::string_view> pieces = characters_and_strays(text);
    for (const Code& code : patterns_) {
        std::vector<std::string_view> finer;
        for (const std::string_view piece : pieces)
            if (is_invalid_byte(piece))
                finer.push_back(piece);
            else
                cut(code, piece, scratch, finer);
        pieces = std::move(finer);
    }
    return pieces;
}

void PreTokenizer::cut(const Code& code, std::string_view piece, Scratch& scratch,
                       std::vector<std::string_view>& pieces) {
    const auto& pcre = *scratch.pcre_;
    const uint64_t steps = kStepsAtLeast + kStepsPerByte * piece.size();
    pcre2_set_match_limit(pcre.context, static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
    for (size_t at = 0; at < piece.size();) {
        // Checking for UTF-8 would read the rest of the text for every piece; split() has done it once.
        const int found = pcre2_match(code.get(), units(piece), piece.size(), at, PCRE2_NO_UTF_CHECK,
                                      pcre.match, pcre.context);
        if (found == PCRE2_ERROR_NOMATCH) {
            pieces.push_back(piece.substr(at));
            return;
        }
        if (found < 0)
            throw Error(fmt::format("tokenizer: cannot cut a text of {} bytes at byte {}: {}", piece.size(),
                                    at, message(found)));
        const size_t* range = pcre2_get_ovector_pointer(pcre.match);
        ENSURE(range[0] >= at && range[1] > range[0], "a pattern matched nothing");
        if (range[0] > at) pieces.push_back(piece.substr(at, range[0] - at));
        pieces.push_back(piece.substr(range[0], range[1] - range[0]));
        at = range[1];
    }
}

}  // namespace plait::text
