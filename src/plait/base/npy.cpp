#include "plait/base/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "plait/base/checked.h"
#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/mapped_file.h"
#include "plait/base/quote.h"

namespace plait {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kPreambleBytes = 10;    // magic, version 1.0, header length
constexpr size_t kHeaderAlignment = 64;  // where values start, for those who map the file

struct Header {
    std::string_view text;
    size_t values_begin = 0;
};

[[noreturn]] void fail(const std::string& source, std::string_view problem) {
    throw Error(fmt::format("{}: {}", source, problem));
}

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Header find_header(std::span<const std::byte> bytes, const std::string& source) {
    const std::string_view text = as_text(bytes);
    if (!text.starts_with(kMagic) || text.size() < kPreambleBytes)
        fail(source, "expected a NumPy array, found something else");
    const auto major = static_cast<uint8_t>(text[kMagic.size()]);
    if (major < 1 || major > 3)
        fail(source, fmt::format("expected version 1, 2 or 3 of the NumPy format, found {}", major));
    const size_t length_bytes = major == 1 ? 2 : 4;
    const size_t header_begin = kMagic.size() + 2 + length_bytes;
    if (text.size() < header_begin) fail(source, "the NumPy header is cut off");
    uint32_t length = 0;
    std::memcpy(&length, text.data() + kMagic.size() + 2, length_bytes);
    if (text.size() - header_begin < length) fail(source, "the NumPy header is cut off");
    return {text.substr(header_begin, length), header_begin + length};
}

// What follows "'key':" in the header, without leading blanks.
std::string_view entry(std::string_view header, std::string_view key, const std::string& source) {
    const std::string quoted = fmt::format("'{}'", key);
    const size_t at = header.find(quoted);
    if (at == std::string_view::npos) fail(source, fmt::format("the NumPy header has no {}", quoted));
    std::string_view rest = header.substr(at + quoted.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (!rest.starts_with(':')) fail(source, fmt::format("the NumPy header has no value for {}", quoted));
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return rest;
}

void expect_entry(std::string_view header, std::string_view key, std::string_view expected,
                  const std::string& source) {
    const std::string_view found = entry(header, key, source);
    if (found.starts_with(expected)) return;
    fail(source, fmt::format("expected {} for '{}' in the NumPy header, found {}", expected, key,
                             quote(found.substr(0, found.find(',')), 20)));
}

// "(60, 256)", "(60,)" or "()".
std::optional<std::vector<int64_t>> parse_shape(std::string_view text) {
    std::vector<int64_t> shape;
    if (!text.starts_with('(')) return std::nullopt;
    const size_t end = text.find(')');
    if (end == std::string_view::npos) return std::nullopt;
    text = text.substr(1, end - 1);
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        if (text.empty()) return shape;
        int64_t extent = 0;
        const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
        if (error != std::errc() || extent < 0) return std::nullopt;
        shape.push_back(extent);
        text.remove_prefix(static_cast<size_t>(next - text.data()));
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        if (text.empty()) return shape;
        if (text.front() != ',') return std::nullopt;
        text.remove_prefix(1);
    }
}

uint64_t value_bytes(std::span<const int64_t> shape, const std::string& source) {
    uint64_t bytes = sizeof(float);
    for (const int64_t extent : shape) bytes = mul_or_throw(bytes, static_cast<uint64_t>(extent), source);
    return bytes;
}

std::string make_preamble(int64_t rows, int64_t cols) {
    std::string header =
        fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
    const size_t unpadded = kPreambleBytes + header.size() + 1;
    header.append((kHeaderAlignment - unpadded % kHeaderAlignment) % kHeaderAlignment, ' ');
    header += '\n';
    const auto length = static_cast<uint16_t>(header.size());
    std::string preamble(kMagic);
    preamble += {'\x01', '\x00'};
    preamble.append(reinterpret_cast<const char*>(&length), sizeof length);
    return preamble + header;
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& source) {
    const Header header = find_header(bytes, source);
    expect_entry(header.text, "descr", "'<f4'", source);
    expect_entry(header.text, "fortran_order", "False", source);
    auto shape = parse_shape(entry(header.text, "shape", source));
    if (!shape) fail(source, "expected a tuple of extents for 'shape' in the NumPy header");
    const uint64_t expected = value_bytes(*shape, source);
    const std::span<const std::byte> data = bytes.subspan(header.values_begin);
    if (data.size() != expected)
        fail(source, fmt::format("expected {} bytes of values, found {}", expected, data.size()));
    NpyArray array{std::move(*shape), std::vector<float>(data.size() / sizeof(float))};
    if (!data.empty()) std::memcpy(array.values.data(), data.data(), data.size());
    return array;
}

NpyArray read_npy(const std::filesystem::path& path) {
    return parse_npy(MappedFile(path).bytes(), path.string());
}

NpyWriter::NpyWriter(const std::filesystem::path& path, int64_t rows, int64_t cols)
    : file_(path), cols_(cols), rows_left_(rows) {
    ENSURE(rows >= 0 && cols > 0, "an array to write has columns");
    file_.write(std::as_bytes(std::span<const char>(make_preamble(rows, cols))));
}

void NpyWriter::append(std::span<const float> values) {
    const auto count = static_cast<int64_t>(values.size());
    ENSURE(count % cols_ == 0 && count / cols_ <= rows_left_, "values are whole rows of the array");
    file_.write(std::as_bytes(values));
    rows_left_ -= count / cols_;
}

void NpyWriter::commit() {
    ENSURE(rows_left_ == 0, "every row of the array is written");
    file_.commit();
}

}  // namespace plait
