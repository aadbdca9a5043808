#include "plait/gguf/file.h"

#include <algorithm>

#include "plait/gguf/parser.h"

namespace plait::gguf {

int64_t Tensor::elements() const {
    int64_t product = 1;  // cannot overflow: checked when the tensor was read
    for (const int64_t dim : shape()) product *= dim;
    return product;
}

File::File(std::span<const std::byte> bytes, std::string source)
    : bytes_(bytes), source_(std::move(source)), contents_(parse_contents(bytes_, source_)) {}

File File::open(const std::filesystem::path& path) {
    MappedFile mapping(path);
    File file(mapping.bytes(), path.string());
    file.mapping_.emplace(std::move(mapping));
    return file;
}

File File::parse(std::span<const std::byte> bytes, std::string source) { return {bytes, std::move(source)}; }

const Tensor* File::find_tensor(std::string_view name) const {
    const auto& order = contents_.by_name;
    const auto name_of = [&](uint32_t i) { return contents_.tensors[i].name; };
    const auto at = std::ranges::lower_bound(order, name, {}, name_of);
    return at != order.end() && name_of(*at) == name ? &contents_.tensors[*at] : nullptr;
}

uint64_t File::offset_of(const Tensor& tensor) const {
    return static_cast<uint64_t>(tensor.data.data() - bytes_.data());
}

}  // namespace plait::gguf
