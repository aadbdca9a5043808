#include "plait/load/pack_key.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "plait/base/quote.h"

namespace plait::load {
namespace {

// Metadata and the list of tensors: names, types, shapes, offsets.
XXH128_hash_t hash_of_index(const gguf::Part& part) {
    return XXH3_128bits(part.bytes.data(), std::min<size_t>(part.data_offset, part.bytes.size()));
}

std::string file_line(const gguf::Part& part, const FileIdentity& file) {
    const XXH128_hash_t index = hash_of_index(part);
    return fmt::format("file {}:{} of {} bytes, modified {}.{:09}, index {:016x}{:016x}\n", file.device,
                       file.inode, file.bytes, file.modified_seconds, file.modified_nanoseconds, index.high64,
                       index.low64);
}

std::string slice_text(const device::StoredTensor& tensor, int member) {
    if (!tensor.layout.is(ir::LayoutKind::split)) return ir::layout_kind_name(tensor.layout.kind);
    const ir::StoredSlice slice = ir::stored_slice(tensor.desc, tensor.layout, member);
    std::string text = fmt::format("axis {}:", tensor.layout.axis);
    for (const ir::Range& piece : slice.pieces) text += fmt::format(" {}-{}", piece.begin, piece.end);
    return text;
}

}  // namespace

std::vector<PackedPart> packed_parts(const ModelWeights& weights) {
    std::vector<PackedPart> parts;
    for (size_t weight = 0; weight < weights.specs.size(); ++weight) {
        if (weights.layouts[weight] < 0) continue;
        int member = 0;
        for (auto& image : weights.type_of(weight).describe_images(weights.tensors[weight])) {
            if (image.bytes > 0) parts.push_back({weight, member, std::move(image)});
            ++member;
        }
    }
    return parts;
}

std::string pack_key(const ModelWeights& weights, std::span<const PackedPart> parts) {
    const std::vector<FileIdentity> files = weights.file.identities();
    if (files.empty()) return {};
    std::string key;
    for (size_t i = 0; i < files.size(); ++i) key += file_line(weights.file.parts()[i], files[i]);
    for (const PackedPart& part : parts) {
        const device::StoredTensor& tensor = weights.tensors[part.weight];
        key += fmt::format("{} {} of member {}, {}, as {} in {} bytes\n",
                           quote(weights.specs[part.weight].name), tensor.desc.text(), part.member,
                           slice_text(tensor, part.member), part.image.layout_id, part.image.bytes);
    }
    return key;
}

}  // namespace plait::load
