#include "plait/gguf/split_model_for_test.h"

#include <fmt/format.h>

#include "plait/base/ensure.h"
#include "plait/gguf/writer.h"

namespace plait::gguf::test {
namespace {

Writer part_of(const File& model, int index, int parts) {
    Writer writer;
    if (index == 0)
        for (const auto& [key, value] : model.metadata().entries()) writer.set_copy(key, value);
    writer.set("split.no", static_cast<uint16_t>(index));
    writer.set("split.count", static_cast<uint16_t>(parts));
    writer.set("split.tensors.count", static_cast<int32_t>(model.tensors().size()));
    return writer;
}

void add(Writer& writer, const Tensor& tensor) {
    ENSURE(tensor.type, tensor.name);
    writer.add({.name = std::string(tensor.name),
                .type = *tensor.type,
                .shape = {tensor.shape().begin(), tensor.shape().end()},
                .data = data_in_memory(tensor.data)});
}

}  // namespace

std::vector<std::filesystem::path> write_parts(const File& model, const std::filesystem::path& folder,
                                               const std::string& prefix, int parts) {
    const size_t each =
        (model.tensors().size() + static_cast<size_t>(parts) - 1) / static_cast<size_t>(parts);
    auto left = model.tensors();
    std::vector<std::filesystem::path> paths;
    for (int index = 0; index < parts; ++index) {
        Writer writer = part_of(model, index, parts);
        const size_t own = std::min(each, left.size());
        for (const Tensor& tensor : left.first(own)) add(writer, tensor);
        left = left.subspan(own);
        writer.write(
            paths.emplace_back(folder / fmt::format("{}-{:05}-of-{:05}.gguf", prefix, index + 1, parts)));
    }
    return paths;
}

}  // namespace plait::gguf::test
