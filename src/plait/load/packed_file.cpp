#include "plait/load/packed_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::load {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'P', 'L', 'A', 'I', 'T', 'P', 'C', 'K'};
constexpr size_t kStepBytes = 4 << 20;

struct Header {
    std::array<char, 8> magic = kMagic;
    uint32_t version = kPackedFileVersion;
    uint32_t key_bytes = 0;
    uint64_t images = 0;
    uint64_t file_bytes = 0;
    bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == 32);

struct IndexEntry {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint64_t hash = 0;
};
static_assert(sizeof(IndexEntry) == 24);

int64_t round_up(int64_t bytes) {
    return (bytes + kPackedFileAlignment - 1) / kPackedFileAlignment * kPackedFileAlignment;
}

// Where everything in a file lies, which follows from what it holds.
struct Places {
    std::vector<int64_t> images;
    int64_t index = kPackedFileAlignment;
    int64_t key = 0;
    int64_t hash = 0;
    int64_t file_bytes = 0;

    explicit Places(const PackedFileContents& contents) {
        for (const int64_t bytes : contents.image_bytes) {
            images.push_back(round_up(index));
            index = images.back() + bytes;
        }
        key = index + static_cast<int64_t>(images.size() * sizeof(IndexEntry));
        hash = key + static_cast<int64_t>(contents.key.size());
        file_bytes = hash + static_cast<int64_t>(sizeof(uint64_t));
    }
};

Header header_of(const PackedFileContents& contents, const Places& places) {
    return {.key_bytes = static_cast<uint32_t>(contents.key.size()),
            .images = contents.image_bytes.size(),
            .file_bytes = static_cast<uint64_t>(places.file_bytes)};
}

// Of a file's bytes, which need not be aligned.
template <class Value>
Value read_at(std::span<const std::byte> bytes, int64_t offset) {
    Value value;
    ENSURE(static_cast<size_t>(offset) + sizeof(Value) <= bytes.size(), "the file's size was checked");
    std::memcpy(&value, bytes.data() + offset, sizeof(Value));
    return value;
}

using Hash = std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t*)>;

// Of everything but the images; `tail` is index and key.
uint64_t hash_of(const Header& header, std::span<const std::byte> tail) {
    const Hash hash(XXH3_createState(), [](XXH3_state_t* state) { XXH3_freeState(state); });
    XXH3_64bits_reset(hash.get());
    XXH3_64bits_update(hash.get(), &header, sizeof(header));
    XXH3_64bits_update(hash.get(), tail.data(), tail.size());
    return XXH3_64bits_digest(hash.get());
}

PackedFileContents contents_of(std::string key, std::span<const std::span<const std::byte>> images) {
    PackedFileContents contents{std::move(key), {}};
    for (const auto& image : images) contents.image_bytes.push_back(static_cast<int64_t>(image.size()));
    return contents;
}

template <class Value>
void append(std::vector<std::byte>& bytes, const Value& value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
}

[[noreturn]] void refuse(const fs::path& path, std::string_view why) {
    throw Error(fmt::format("{}: {}", path.string(), why));
}

}  // namespace

int64_t PackedFileContents::file_bytes() const { return Places(*this).file_bytes; }

std::optional<PackedFile> PackedFile::open(const fs::path& path, const PackedFileContents& contents) {
    if (!identify_file(path)) return std::nullopt;
    PackedFile file(MappedFile(path), contents);
    try {
        file.check(contents);
    } catch (const Error& error) {
        refuse(path, error.what());
    }
    return file;
}

PackedFile::PackedFile(MappedFile file, const PackedFileContents& contents)
    : file_(std::move(file)), bytes_(contents.image_bytes) {
    Places places(contents);
    offsets_ = std::move(places.images);
    index_ = places.index;
}

void PackedFile::check(const PackedFileContents& contents) const {
    const Places places(contents);
    const auto bytes = file_.bytes();
    if (bytes.size() < sizeof(Header)) throw Error("it is shorter than a header");
    const auto header = read_at<Header>(bytes, 0);
    if (header.magic != kMagic) throw Error("it does not begin as files of packed weights do");
    if (header.version != kPackedFileVersion)
        throw Error(
            fmt::format("it has version {}, this build writes {}", header.version, kPackedFileVersion));
    if (header.file_bytes != bytes.size())
        throw Error(fmt::format("it has {} bytes, expected {}", bytes.size(), header.file_bytes));
    if (header != header_of(contents, places)) throw Error("it holds other weights than expected");
    const auto tail =
        bytes.subspan(static_cast<size_t>(places.index), static_cast<size_t>(places.hash - places.index));
    if (read_at<uint64_t>(bytes, places.hash) != hash_of(header, tail)) throw Error("its index is damaged");
    for (size_t i = 0; i < bytes_.size(); ++i) {
        const auto entry =
            read_at<IndexEntry>(bytes, places.index + static_cast<int64_t>(i * sizeof(IndexEntry)));
        if (entry.offset != static_cast<uint64_t>(offsets_[i]) ||
            entry.bytes != static_cast<uint64_t>(bytes_[i]))
            throw Error("its images are of other sizes than expected");
    }
    const auto key = bytes.subspan(static_cast<size_t>(places.key), contents.key.size());
    if (!std::ranges::equal(key, std::as_bytes(std::span(contents.key))))
        throw Error("it holds other weights than expected");
}

std::span<const std::byte> PackedFile::image(size_t index) const {
    return file_.bytes().subspan(static_cast<size_t>(offsets_[index]), static_cast<size_t>(bytes_[index]));
}

void PackedFile::verify() const {
    for (size_t i = 0; i < bytes_.size(); ++i) {
        const auto entry =
            read_at<IndexEntry>(file_.bytes(), index_ + static_cast<int64_t>(i * sizeof(IndexEntry)));
        if (XXH3_64bits(image(i).data(), image(i).size()) != entry.hash)
            throw Error(fmt::format("image {} of packed weights is damaged", i));
    }
}

void PackedFileWriter::FreeHash::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

PackedFileWriter::PackedFileWriter(const fs::path& path, std::string key,
                                   std::vector<std::span<const std::byte>> images)
    : key_(std::move(key)),
      images_(std::move(images)),
      file_(path, AtomicFile::Link::replace),
      hash_(XXH3_createState()) {
    const PackedFileContents contents = contents_of(key_, images_);
    const Places places(contents);
    offsets_ = places.images;
    const Header header = header_of(contents, places);
    file_.write(std::as_bytes(std::span(&header, 1)));
}

PackedFileWriter::~PackedFileWriter() = default;

void PackedFileWriter::pad_to(int64_t position) {
    static constexpr std::array<std::byte, kPackedFileAlignment> kZeros{};
    const int64_t missing = position - static_cast<int64_t>(file_.position());
    ENSURE(missing >= 0 && missing <= kPackedFileAlignment, "images follow each other");
    file_.write(std::span(kZeros).first(static_cast<size_t>(missing)));
}

bool PackedFileWriter::step() {
    if (hashes_.size() == images_.size()) return false;
    const auto image = images_[hashes_.size()];
    if (written_ == 0) {
        pad_to(offsets_[hashes_.size()]);
        XXH3_64bits_reset(hash_.get());
    }
    const auto piece = image.subspan(written_, std::min(kStepBytes, image.size() - written_));
    XXH3_64bits_update(hash_.get(), piece.data(), piece.size());
    file_.write(piece);
    file_.start_writeback();
    written_ += piece.size();
    if (written_ == image.size()) {
        hashes_.push_back(XXH3_64bits_digest(hash_.get()));
        written_ = 0;
    }
    return true;
}

void PackedFileWriter::commit() {
    const PackedFileContents contents = contents_of(key_, images_);
    const Places places(contents);
    if (images_.empty()) pad_to(places.index);
    std::vector<std::byte> tail;
    for (size_t i = 0; i < images_.size(); ++i)
        append(tail, IndexEntry{static_cast<uint64_t>(offsets_[i]), images_[i].size(), hashes_[i]});
    const auto key = std::as_bytes(std::span(key_));
    tail.insert(tail.end(), key.begin(), key.end());
    append(tail, hash_of(header_of(contents, places), tail));
    file_.write(tail);
    ENSURE(static_cast<int64_t>(file_.position()) == places.file_bytes,
           "a file is as large as its header says");
    file_.commit();
}

}  // namespace plait::load
