// Any bytes as a model file: opened, everything it offers read, its tokenizer's keys and its model loaded.

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/gguf/file.h"
#include "plait/models/model.h"
#include "plait/text/vocab_from_gguf.h"

namespace {

using namespace plait;

uint64_t volatile sink = 0;  // what was read is used, so it is read

void touch(std::span<const std::byte> bytes) {
    uint64_t sum = 0;
    for (const std::byte byte : bytes) sum += std::to_integer<uint64_t>(byte);
    sink = sink + sum;
}

void touch(std::string_view text) { touch(std::as_bytes(std::span(text))); }

void touch(const gguf::Value& value) {
    if (const auto text = value.as<std::string_view>()) touch(*text);
    if (const auto strings = value.strings())
        for (const std::string_view text : *strings) touch(text);
    if (const auto numbers = value.array_as<int64_t>()) sink = sink + numbers->to_vector().size();
    if (const auto numbers = value.array_as<float>()) sink = sink + numbers->to_vector().size();
}

void touch(const gguf::File& file) {
    for (const auto& [key, value] : file.metadata().entries()) {
        ENSURE(file.metadata().contains(key), "an entry is found under its key");
        touch(value);
    }
    for (const gguf::Tensor& tensor : file.tensors()) {
        ENSURE(file.find_tensor(tensor.name) == &tensor, "a tensor is found under its name");
        touch(tensor.data);
    }
}

// What throws Error in one step is no reason to leave out the next.
template <class Step>
void attempt(Step step) {
    try {
        step();
    } catch (const Error& error) {
        touch(error.what());
    }
}

void use(const gguf::File& file) {
    touch(file);
    attempt([&] { text::vocab_from_gguf(file); });
    attempt([&] { models::load_model(file, {.context = models::trained_context(file)}); });
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    set_up_log({.level = LogLevel::error});
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    attempt([&] { use(gguf::File::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf")); });
    return 0;
}
