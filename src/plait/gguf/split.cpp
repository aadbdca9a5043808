#include "plait/gguf/split.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <system_error>

#include "plait/base/error.h"
#include "plait/base/quote.h"

namespace plait::gguf {
namespace {

constexpr const char* kIndexKey = "split.no";
constexpr const char* kCountKey = "split.count";
constexpr const char* kTensorsKey = "split.tensors.count";
constexpr const char* kArchitectureKey = "general.architecture";

[[noreturn]] void refuse(const Part& part, std::string_view key, std::string_view expected, uint64_t found) {
    throw Error(
        fmt::format("{}: metadata key '{}': expected {}, found {}", part.source, key, expected, found));
}

std::string name_ending(uint64_t index, uint64_t count) {
    return fmt::format("-{:05}-of-{:05}.gguf", index + 1, count);
}

std::string ordinal(const PartPlace& place) {
    return fmt::format("part {} of {}", place.index + 1, place.count);
}

void verify_architecture(const Part& part, const Part& first) {
    const auto own = part.metadata.get_optional<std::string_view>(kArchitectureKey);
    const auto model = first.metadata.get_optional<std::string_view>(kArchitectureKey);
    if (!own || own == model) return;
    throw Error(fmt::format("{}: metadata key '{}': expected {} as in {}, found {}", part.source,
                            kArchitectureKey, model ? quote(*model) : "none", first.source, quote(*own)));
}

void verify_tensor_count(const Part& part, const File& file) {
    const auto announced = part.metadata.get_optional<uint64_t>(kTensorsKey);
    if (announced && *announced != file.tensors().size())
        refuse(
            part, kTensorsKey,
            fmt::format("the {} tensors that the {} parts hold", file.tensors().size(), file.parts().size()),
            *announced);
}

}  // namespace

PartPlace read_place(const Part& part) {
    // Zero is what merging the parts into one file leaves.
    const auto count = part.metadata.get_or<uint64_t>(kCountKey, 0);
    if (count <= 1) return {};
    if (count > kMaxParts) refuse(part, kCountKey, fmt::format("at most {}", kMaxParts), count);
    const auto index = part.metadata.get<uint64_t>(kIndexKey);
    if (index >= count)
        refuse(part, kIndexKey, fmt::format("less than the {} parts there are", count), index);
    return {index, count};
}

std::filesystem::path sibling(const std::filesystem::path& path, const PartPlace& place, uint64_t index) {
    std::string name = path.filename().string();
    const std::string ending = name_ending(place.index, place.count);
    if (!name.ends_with(ending))
        throw Error(
            fmt::format("{}: it says that it is {} of a model, so its name should end in '{}'; give "
                        "all parts back the names they had",
                        path.string(), ordinal(place), ending));
    name.resize(name.size() - ending.size());
    const auto other = path.parent_path() / (name + name_ending(index, place.count));
    // A file that is there and cannot be read says why when it is opened.
    std::error_code ignored;
    if (std::filesystem::symlink_status(other, ignored).type() == std::filesystem::file_type::not_found)
        throw Error(
            fmt::format("{}: it is {} of a model, of which part {} is missing: expected {} (all parts "
                        "lie in one folder)",
                        path.string(), ordinal(place), index + 1, other.string()));
    return other;
}

void verify_place(const Part& part, const PartPlace& expected) {
    const PartPlace found = read_place(part);
    if (found.index == expected.index && found.count == expected.count) return;
    throw Error(
        fmt::format("{}: its name says that it is {} of a model, but its metadata that it is {}; it may "
                    "be a copy of another file",
                    part.source, ordinal(expected), found.count == 1 ? "a whole one" : ordinal(found)));
}

void verify_together(const File& file) {
    if (file.parts().size() == 1) return;
    for (const Part& part : file.parts()) {
        verify_architecture(part, file.parts().front());
        verify_tensor_count(part, file);
    }
}

}  // namespace plait::gguf
