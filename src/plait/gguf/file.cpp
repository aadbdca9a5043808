#include "plait/gguf/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/gguf/parser.h"
#include "plait/gguf/split.h"

namespace plait::gguf {
namespace {

// The name's length stands before it, and is where the file starts to speak of the tensor.
uint64_t entry_offset(const Tensor& tensor, const Part& part) {
    const auto* name = reinterpret_cast<const std::byte*>(tensor.name.data());
    return static_cast<uint64_t>(name - part.bytes.data()) - sizeof(uint64_t);
}

}  // namespace

int64_t Tensor::elements() const {
    int64_t product = 1;  // cannot overflow: checked when the tensor was read
    for (const int64_t dim : shape()) product *= dim;
    return product;
}

// A part and the mapping that its views lie in; the caller's memory has none.
struct File::Opened {
    std::optional<MappedFile> mapping;
    ParsedFile parsed;

    static Opened open(const std::filesystem::path& path) {
        MappedFile mapping(path);
        ParsedFile parsed = parse_file(mapping.bytes(), path.string());
        return {std::move(mapping), std::move(parsed)};
    }
};

File File::open(const std::filesystem::path& path) {
    Opened asked = Opened::open(path);
    const PartPlace place = read_place(asked.parsed.part);
    File file;
    for (uint64_t index = 0; index < place.count; ++index) {
        if (index == place.index) {
            file.add(std::move(asked));
            continue;
        }
        file.add(Opened::open(sibling(path, place, index)));
        verify_place(file.parts_.back(), {index, place.count});
    }
    verify_together(file);
    file.index_tensors();
    return file;
}

File File::parse(std::span<const std::byte> bytes, std::string source) {
    File file;
    file.add({std::nullopt, parse_file(bytes, source)});
    if (const uint64_t count = read_place(file.parts_.front()).count; count > 1)
        throw Error(
            fmt::format("{}: it is one of the {} parts of a model, expected a whole one", source, count));
    file.index_tensors();
    return file;
}

void File::add(Opened opened) {
    for (Tensor& tensor : opened.parsed.tensors) {
        tensor.part = static_cast<uint32_t>(parts_.size());
        tensors_.push_back(tensor);
    }
    parts_.push_back(std::move(opened.parsed.part));
    if (opened.mapping) mappings_.push_back(std::move(*opened.mapping));
}

void File::index_tensors() {
    by_name_.resize(tensors_.size());
    std::iota(by_name_.begin(), by_name_.end(), uint32_t{0});
    const auto name = [&](uint32_t i) { return tensors_[i].name; };
    std::ranges::sort(by_name_,
                      [&](uint32_t a, uint32_t b) { return std::pair(name(a), a) < std::pair(name(b), b); });
    const auto twice = std::ranges::adjacent_find(by_name_, {}, name);
    if (twice != by_name_.end()) refuse_twin(tensors_[*std::next(twice)], tensors_[*twice]);
}

void File::refuse_twin(const Tensor& tensor, const Tensor& before) const {
    const Part& part = part_of(tensor);
    throw Error(fmt::format("{}: tensor {} at byte {}: another tensor has the same name, at byte {}{}",
                            part.source, quote(tensor.name), entry_offset(tensor, part),
                            entry_offset(before, part_of(before)),
                            tensor.part == before.part ? "" : fmt::format(" of {}", part_of(before).source)));
}

uint64_t File::file_bytes() const {
    return std::accumulate(parts_.begin(), parts_.end(), uint64_t{0},
                           [](uint64_t sum, const Part& part) { return sum + part.bytes.size(); });
}

std::vector<FileIdentity> File::identities() const {
    std::vector<FileIdentity> identities;
    for (const MappedFile& mapping : mappings_) identities.push_back(mapping.identity());
    return identities;
}

const Tensor* File::find_tensor(std::string_view name) const {
    const auto name_of = [&](uint32_t i) { return tensors_[i].name; };
    const auto at = std::ranges::lower_bound(by_name_, name, {}, name_of);
    return at != by_name_.end() && name_of(*at) == name ? &tensors_[*at] : nullptr;
}

uint64_t File::offset_of(const Tensor& tensor) const {
    return static_cast<uint64_t>(tensor.data.data() - part_of(tensor).bytes.data());
}

void File::forget(const Tensor& tensor) const {
    if (!mappings_.empty()) mappings_[tensor.part].forget(tensor.data);
}

}  // namespace plait::gguf
