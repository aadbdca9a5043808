#include "plait/gguf/writer.h"

#include <algorithm>
#include <cstring>

#include "plait/base/atomic_file.h"
#include "plait/base/ensure.h"
#include "plait/gguf/format.h"
#include "plait/gguf/scalars.h"

namespace plait::gguf {
namespace {

using Bytes = std::vector<std::byte>;

void put_bytes(Bytes& out, std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void put(Bytes& out, T value) {
    put_bytes(out, std::as_bytes(std::span(&value, 1)));
}

void put_string(Bytes& out, std::string_view text) {
    put<uint64_t>(out, text.size());
    put_bytes(out, std::as_bytes(std::span(text)));
}

uint64_t aligned(uint64_t offset) {
    return (offset + kDefaultAlignment - 1) / kDefaultAlignment * kDefaultAlignment;
}

uint64_t data_bytes(const Writer::NewTensor& tensor) {
    auto bytes = static_cast<uint64_t>(dtype::row_bytes(tensor.type, tensor.shape.back()));
    for (const int64_t dim : std::span(tensor.shape).first(tensor.shape.size() - 1))
        bytes *= static_cast<uint64_t>(dim);
    return bytes;
}

void put_padding(const Writer::Sink& out, uint64_t position) {
    static constexpr std::byte kZeros[kDefaultAlignment] = {};
    out(std::span(kZeros).first(aligned(position) - position));
}

void put_data(const Writer::Sink& out, const Writer::NewTensor& tensor) {
    uint64_t written = 0;
    tensor.data([&](std::span<const std::byte> bytes) {
        written += bytes.size();
        out(bytes);
    });
    ENSURE(written == data_bytes(tensor), tensor.name);
    put_padding(out, written);
}

}  // namespace

void Writer::begin_entry(std::string_view key) {
    ENSURE(!key.empty() && key.size() <= kMaxKeyBytes, key);
    ENSURE(keys_.emplace(key).second, key);
    put_string(entries_, key);
}

void Writer::set(std::string_view key, std::string_view value) {
    begin_entry(key);
    put(entries_, ValueType::String);
    put_string(entries_, value);
}

template <Scalar T>
void Writer::set(std::string_view key, T value) {
    begin_entry(key);
    put(entries_, value_type_of<T>());
    put(entries_, value);
}

template <Scalar T>
void Writer::set_array(std::string_view key, std::span<const T> values) {
    begin_entry(key);
    put(entries_, ValueType::Array);
    put(entries_, value_type_of<T>());
    put<uint64_t>(entries_, values.size());
    put_bytes(entries_, std::as_bytes(values));
}

void Writer::set_strings(std::string_view key, std::span<const std::string> values) {
    begin_entry(key);
    put(entries_, ValueType::Array);
    put(entries_, ValueType::String);
    put<uint64_t>(entries_, values.size());
    for (const std::string& value : values) put_string(entries_, value);
}

void Writer::set_copy(std::string_view key, const Value& value) {
    begin_entry(key);
    put(entries_, value.type());
    if (value.type() == ValueType::Array) {
        put(entries_, value.element_type());
        put<uint64_t>(entries_, value.count());
    }
    put_bytes(entries_, value.stored());
}

void Writer::add(NewTensor tensor) {
    ENSURE(!tensor.name.empty() && tensor.name.size() <= kMaxTensorNameBytes, tensor.name);
    ENSURE(!tensor.shape.empty() && tensor.shape.size() <= kMaxDimensions, tensor.name);
    ENSURE(std::ranges::all_of(tensor.shape, [](int64_t dim) { return dim > 0; }), tensor.name);
    ENSURE(names_.insert(tensor.name).second, tensor.name);
    tensors_.push_back(std::move(tensor));
}

// Everything before the data section but the padding.
Bytes Writer::head() const {
    Bytes out;
    put(out, kMagic);
    put(out, kNewestVersion);
    put<uint64_t>(out, tensors_.size());
    put<uint64_t>(out, keys_.size());
    put_bytes(out, entries_);
    uint64_t offset = 0;
    for (const NewTensor& tensor : tensors_) {
        put_string(out, tensor.name);
        put(out, static_cast<uint32_t>(tensor.shape.size()));
        for (size_t axis = tensor.shape.size(); axis-- > 0;)
            put(out, static_cast<uint64_t>(tensor.shape[axis]));
        put(out, dtype::info(tensor.type).gguf_id);
        put(out, offset);
        offset = aligned(offset + data_bytes(tensor));
    }
    return out;
}

void Writer::write(const Sink& out) const {
    const Bytes front = head();
    out(front);
    put_padding(out, front.size());
    for (const NewTensor& tensor : tensors_) put_data(out, tensor);
}

void Writer::write(const std::filesystem::path& path) const {
    AtomicFile file(path);
    write([&](std::span<const std::byte> bytes) { file.write(bytes); });
    file.commit();
}

std::function<void(const Writer::Sink&)> data_in_memory(std::span<const std::byte> bytes) {
    return [bytes](const Writer::Sink& out) { out(bytes); };
}

#define PLAIT_GGUF_SCALAR(T)                           \
    template void Writer::set<T>(std::string_view, T); \
    template void Writer::set_array<T>(std::string_view, std::span<const T>);

PLAIT_GGUF_FOR_SCALARS(PLAIT_GGUF_SCALAR)
#undef PLAIT_GGUF_SCALAR

}  // namespace plait::gguf
