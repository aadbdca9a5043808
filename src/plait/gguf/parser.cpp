#include "plait/gguf/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "plait/base/checked.h"
#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/base/utf8.h"
#include "plait/gguf/cursor.h"
#include "plait/gguf/not_gguf.h"

namespace plait::gguf {
namespace {

// Fewest bytes an entry can take: key length, one byte of key, type, one byte of value.
constexpr uint64_t kSmallestEntry = 8 + 1 + 4 + 1;
// And a tensor: name length, one byte of name, dimension count, one dimension, type, offset.
constexpr uint64_t kSmallestTensor = 8 + 1 + 4 + 8 + 4 + 8;

struct Header {
    uint32_t version;
    uint64_t tensors;
    uint64_t entries;
};

// --- header

void check_version(const Cursor& cursor, uint32_t version) {
    if (version >= kOldestVersion && version <= kNewestVersion) return;
    if (const uint32_t swapped = __builtin_bswap32(version); swapped >= 1 && swapped <= kNewestVersion)
        cursor.fail(
            fmt::format("the file is big-endian GGUF version {}; Plait reads little-endian files", swapped));
    cursor.fail(fmt::format("GGUF version {}; Plait reads versions {} and {}", version, kOldestVersion,
                            kNewestVersion));
}

void check_count(const Cursor& cursor, uint64_t count, uint64_t smallest, std::string_view what) {
    if (count > kMaxEntries)
        cursor.fail(
            fmt::format("it announces {} {}, more than the {} Plait allows", count, what, kMaxEntries));
    if (count > cursor.remaining() / smallest)
        cursor.fail(fmt::format("it announces {} {}, which do not fit in the {} bytes that follow", count,
                                what, cursor.remaining()));
}

Header read_header(Cursor& cursor, std::span<const std::byte> bytes, const std::string& source) {
    if (bytes.size() < sizeof kMagic || cursor.number<uint32_t>("magic") != kMagic)
        throw Error(fmt::format("{}: {}", source, not_gguf(bytes)));
    const auto version = cursor.number<uint32_t>("version");
    check_version(cursor, version);
    const auto tensors = cursor.number<uint64_t>("tensor count");
    const auto entries = cursor.number<uint64_t>("metadata count");
    check_count(cursor, tensors, kSmallestTensor, "tensors");
    check_count(cursor, entries, kSmallestEntry, "metadata entries");
    return {version, tensors, entries};
}

// --- metadata

ValueType read_type(Cursor& cursor, std::string_view what) {
    const auto type = cursor.number<uint32_t>(what);
    if (type >= kValueTypes) cursor.fail(fmt::format("the {} is {}, which GGUF does not define", what, type));
    return static_cast<ValueType>(type);
}

void check_bools(const Cursor& cursor, const std::byte* data, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i)
        if (data[i] > std::byte{1})
            cursor.fail(
                fmt::format("a bool is stored as {}, expected 0 or 1", std::to_integer<int>(data[i])));
}

// Reads `count` strings over; returns where they start.
const std::byte* read_strings(Cursor& cursor, uint64_t count) {
    constexpr uint64_t kSmallestString = sizeof(uint64_t);
    if (count > cursor.remaining() / kSmallestString)
        cursor.fail(fmt::format("the array has {} strings, which do not fit in the {} bytes that follow",
                                count, cursor.remaining()));
    const std::byte* data = cursor.here();
    for (uint64_t i = 0; i < count; ++i) cursor.string("string");
    return data;
}

const std::byte* read_values(Cursor& cursor, ValueType type, uint64_t count) {
    if (type == ValueType::String) return read_strings(cursor, count);
    const std::byte* data = cursor.elements(count, fixed_bytes(type), "value");
    if (type == ValueType::Bool) check_bools(cursor, data, count);
    return data;
}

Value read_value(Cursor& cursor) {
    const ValueType type = read_type(cursor, "value type");
    if (type != ValueType::Array) return {type, read_values(cursor, type, 1)};
    const ValueType element = read_type(cursor, "array's element type");
    if (element == ValueType::Array)
        cursor.fail("the value is an array of arrays, which Plait does not read");
    const auto count = cursor.number<uint64_t>("array's length");
    return {element, count, read_values(cursor, element, count)};
}

std::string_view read_name(Cursor& cursor, std::string_view what, size_t most) {
    const std::string_view name = cursor.string(what);
    if (name.empty()) cursor.fail(fmt::format("the {} is empty", what));
    if (valid_prefix(name) != name.size())
        cursor.fail(fmt::format("the {} {} is not UTF-8", what, quote(name)));
    if (name.size() > most)
        cursor.fail(fmt::format("the {} {} has {} bytes, more than the {} GGUF allows", what, quote(name),
                                name.size(), most));
    cursor.set_name(name);
    return name;
}

Metadata read_metadata(Cursor& cursor, uint64_t count, const std::string& source) {
    std::vector<Metadata::Entry> entries;
    entries.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
        cursor.enter("metadata key", i, count);
        const std::string_view key = read_name(cursor, "key", kMaxKeyBytes);
        entries.push_back({key, read_value(cursor)});
    }
    return {source, std::move(entries)};
}

uint64_t read_alignment(const Metadata& metadata, const std::string& source) {
    const auto alignment = metadata.get_or<uint32_t>("general.alignment", kDefaultAlignment);
    if (!std::has_single_bit(alignment) || alignment < kSmallestAlignment)
        throw Error(fmt::format(
            "{}: metadata key 'general.alignment': expected a power of two of at least {}, found {}", source,
            kSmallestAlignment, alignment));
    return alignment;
}

// --- tensors

void read_dims(Cursor& cursor, Tensor& tensor) {
    const auto rank = cursor.number<uint32_t>("dimension count");
    if (rank < 1 || rank > kMaxDimensions)
        cursor.fail(fmt::format("it has {} dimensions, expected 1 to {}", rank, kMaxDimensions));
    tensor.rank = static_cast<int>(rank);
    tensor.dims.fill(1);
    std::optional<int64_t> elements = 1;
    for (int i = tensor.rank - 1; i >= 0; --i) {  // the file lists the innermost first
        const auto dim = cursor.number<uint64_t>("dimension");
        if (dim == 0) cursor.fail("one of its dimensions is 0");
        if (std::in_range<int64_t>(dim)) elements = checked_mul(*elements, static_cast<int64_t>(dim));
        if (!std::in_range<int64_t>(dim) || !elements)
            cursor.fail("its dimensions multiply to more elements than any file can hold");
        tensor.dims[i] = static_cast<int64_t>(dim);
    }
}

// Nothing is known of the size of a type without a format: its data is left out.
uint64_t data_bytes(const Cursor& cursor, const Tensor& tensor) {
    if (!tensor.type) return 0;
    const dtype::DTypeInfo& format = dtype::info(*tensor.type);
    const int64_t row = tensor.shape().back();
    if (row % format.block_elements != 0)
        cursor.fail(fmt::format("its rows have {} elements, not a multiple of the {} in a block of {}", row,
                                format.block_elements, format.name));
    const auto blocks = static_cast<uint64_t>(tensor.elements() / format.block_elements);
    const auto bytes = checked_mul(blocks, static_cast<uint64_t>(format.block_bytes));
    if (!bytes) cursor.fail("its dimensions multiply to more bytes than any file can hold");
    return *bytes;
}

// The tensors, whose data is not known before the data section's place is.
struct Announced {
    std::vector<Tensor> tensors;
    std::vector<uint64_t> offsets;  // in the data section
};

Announced read_tensors(Cursor& cursor, uint64_t count) {
    Announced all;
    all.tensors.reserve(count);
    all.offsets.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
        cursor.enter("tensor", i, count);
        Tensor& tensor = all.tensors.emplace_back();
        tensor.name = read_name(cursor, "name", kMaxTensorNameBytes);
        read_dims(cursor, tensor);
        tensor.type_id = cursor.number<uint32_t>("tensor type");
        if (const auto* format = dtype::find_gguf(tensor.type_id)) tensor.type = format->type;
        all.offsets.push_back(cursor.number<uint64_t>("data offset"));
    }
    return all;
}

void place(const Cursor& cursor, Tensor& tensor, uint64_t offset, uint64_t alignment,
           std::span<const std::byte> data_section) {
    const uint64_t bytes = data_bytes(cursor, tensor);
    if (offset % alignment != 0)
        cursor.fail(
            fmt::format("its data offset {} is not a multiple of the alignment {}", offset, alignment));
    if (offset > data_section.size() || bytes > data_section.size() - offset)
        cursor.fail(
            fmt::format("its data needs {} bytes at offset {} of the data section, but the file ends after "
                        "{} (it may be incompletely downloaded)",
                        bytes, offset, data_section.size()));
    tensor.data = data_section.subspan(offset, bytes);
}

// Where a tensor's data ends; of an unknown format at least a byte after it starts.
const std::byte* data_end(const Tensor& tensor) {
    return tensor.data.data() + std::max<size_t>(tensor.data.size(), 1);
}

void refuse_overlap(Cursor& cursor, const std::vector<Tensor>& tensors) {
    std::vector<uint32_t> order(tensors.size());
    std::iota(order.begin(), order.end(), uint32_t{0});
    std::ranges::sort(order, {}, [&](uint32_t i) { return tensors[i].data.data(); });
    for (size_t i = 1; i < order.size(); ++i) {
        const Tensor& before = tensors[order[i - 1]];
        const Tensor& after = tensors[order[i]];
        if (data_end(before) <= after.data.data() || before.name == after.name) continue;  // a twin: see File
        cursor.revisit("tensor", after.name);
        cursor.fail(fmt::format("its data overlaps that of tensor {}", quote(before.name)));
    }
}

std::span<const std::byte> data_section(std::span<const std::byte> bytes, uint64_t offset) {
    return bytes.subspan(std::min<uint64_t>(offset, bytes.size()));
}

}  // namespace

ParsedFile parse_file(std::span<const std::byte> bytes, const std::string& source) {
    Cursor cursor(bytes, source);
    const Header header = read_header(cursor, bytes, source);
    Metadata metadata = read_metadata(cursor, header.entries, source);
    const uint64_t alignment = read_alignment(metadata, source);

    Announced announced = read_tensors(cursor, header.tensors);
    const uint64_t data_offset = (cursor.offset() + alignment - 1) / alignment * alignment;
    for (size_t i = 0; i < announced.tensors.size(); ++i) {
        cursor.revisit("tensor", announced.tensors[i].name);
        place(cursor, announced.tensors[i], announced.offsets[i], alignment,
              data_section(bytes, data_offset));
    }
    refuse_overlap(cursor, announced.tensors);
    return {.part = {.source = source,
                     .bytes = bytes,
                     .version = header.version,
                     .alignment = alignment,
                     .data_offset = data_offset,
                     .metadata = std::move(metadata)},
            .tensors = std::move(announced.tensors)};
}

}  // namespace plait::gguf
