#include "plait/gguf/not_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "plait/base/quote.h"

namespace plait::gguf {
namespace {

using namespace std::string_view_literals;

constexpr size_t kFrontBytes = 256;  // enough to know all of these by

constexpr const char* kConvert = "convert the model to GGUF, or download a GGUF file of it";
constexpr const char* kDownload = "download the file again";
constexpr const char* kUnpack = "unpack it first";

struct Kind {
    std::string_view start;
    const char* what;
    const char* advice;
};

// Signatures: PKWARE's APPNOTE, Python's pickle protocols 2 to 4 (what torch.save wrote before it used ZIP),
// RFC 1952, RFC 8878, the xz and 7z format descriptions, and the numbers of ggml's formats before GGUF as
// they lie in a little-endian file.
constexpr Kind kKinds[] = {
    {"version https://git-lfs"sv, "the pointer that Git LFS leaves in place of a file",
     "fetch the file itself (git lfs pull)"},
    {"PK\x03\x04"sv, "a ZIP archive, as PyTorch checkpoints are", kConvert},
    {"\x80\x02"sv, "a pickled PyTorch checkpoint", kConvert},
    {"\x80\x03"sv, "a pickled PyTorch checkpoint", kConvert},
    {"\x80\x04"sv, "a pickled PyTorch checkpoint", kConvert},
    {"lmgg"sv, "a ggml file of the time before GGUF", kConvert},
    {"fmgg"sv, "a ggml file of the time before GGUF", kConvert},
    {"tjgg"sv, "a ggml file of the time before GGUF", kConvert},
    {"algg"sv, "a ggml adapter of the time before GGUF", kConvert},
    {"\x1f\x8b"sv, "compressed by gzip", kUnpack},
    {"\x28\xb5\x2f\xfd"sv, "compressed by Zstandard", kUnpack},
    {"\xfd"
     "7zXZ"sv,
     "compressed by xz", kUnpack},
    {"7z\xbc\xaf"sv, "a 7z archive", kUnpack},
    {"\0\0\0\0"sv, "one whose beginning was never written, as an unfinished download leaves it", kDownload},
};

// safetensors: the length of a JSON object as a 64-bit number, and the object.
bool looks_like_safetensors(std::string_view front, uint64_t file_bytes) {
    uint64_t length = 0;
    if (front.size() <= sizeof length || front[sizeof length] != '{') return false;
    std::memcpy(&length, front.data(), sizeof length);
    return length <= file_bytes - sizeof length;
}

std::string_view without_leading_space(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
    return text;
}

bool looks_like_html(std::string_view text) {
    return text.size() >= 2 && text[0] == '<' &&
           (text[1] == '!' || std::isalpha(static_cast<unsigned char>(text[1])));
}

// Long enough to be a message, and nothing but ASCII that a terminal prints.
bool looks_like_a_message(std::string_view text) {
    constexpr size_t kShortest = 8;
    return text.size() >= kShortest && std::ranges::all_of(text, [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return byte < 0x80 && (std::isprint(byte) || std::isspace(byte));
           });
}

std::string sentence(std::string_view what, std::string_view advice) {
    return fmt::format("this is not a GGUF file but seems to be {}; {}", what, advice);
}

}  // namespace

std::string not_gguf(std::span<const std::byte> bytes) {
    const std::string_view front(reinterpret_cast<const char*>(bytes.data()),
                                 std::min(bytes.size(), kFrontBytes));
    if (front.empty()) return fmt::format("the file is empty; {}", kDownload);
    const auto* known =
        std::ranges::find_if(kKinds, [&](const Kind& kind) { return front.starts_with(kind.start); });
    if (looks_like_safetensors(front, bytes.size())) return sentence("a safetensors file", kConvert);
    if (known != std::end(kKinds)) return sentence(known->what, known->advice);
    const std::string_view text = without_leading_space(front);
    if (looks_like_html(text))
        return sentence("a web page, as a download that asks for a login leaves it", kDownload);
    if (looks_like_a_message(text))
        return sentence(fmt::format("text, perhaps a server's answer, {}", quote(text, 60)), kDownload);
    return fmt::format("this is not a GGUF file: it starts with {}, expected 'GGUF'",
                       quote(front.substr(0, 4)));
}

}  // namespace plait::gguf
