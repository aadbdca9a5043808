#include "plait/tools/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "plait/base/checked.h"
#include "plait/base/progress.h"
#include "plait/dtype/dtype.h"
#include "plait/gguf/writer.h"
#include "plait/tools/synth_arch.h"
#include "plait/tools/synth_types.h"
#include "plait/tools/synth_vocabulary.h"

namespace plait::tools {
namespace {

// --- random weights

// SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function, so any row can start anywhere.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

  private:
    uint64_t state_;
};

// FNV-1a.
uint64_t hash(std::string_view text) {
    uint64_t h = 0xcbf29ce484222325;
    for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return h;
}

struct Distribution {
    float mean;
    float deviation;
};

// Uniform, four values from each number drawn: the shape of the distribution matters to nobody, the time to
// everyone.
void fill_row(std::span<float> row, uint64_t seed, Distribution distribution) {
    const float step = distribution.deviation * std::sqrt(3.0f) / 32768;
    Random random(seed);
    uint64_t bits = 0;
    for (size_t i = 0; i < row.size(); ++i) {
        if (i % 4 == 0) bits = random.next();
        row[i] = distribution.mean + static_cast<float>(static_cast<int16_t>(bits)) * step;
        bits >>= 16;
    }
}

Distribution distribution_of(SynthFill fill, int64_t columns) {
    switch (fill) {
        case SynthFill::matrix:
            return {0, 1 / std::sqrt(static_cast<float>(columns))};
        case SynthFill::norm:
            return {1, 0.05f};
        case SynthFill::bias:
            return {0, 0.02f};
        case SynthFill::divisor:
            return {2, 0.5f};
    }
    return {};
}

// --- tensors

struct Planned {
    std::string name;
    dtype::DType type;
    std::vector<int64_t> shape;
    int64_t rows;
    int64_t columns;
    SynthFill fill;
};

Planned plan_tensor(const SynthTensor& tensor, const std::string& prefix, int64_t layer,
                    const SynthSize& size, const SynthType& type) {
    Planned planned{
        .name = prefix + std::string(tensor.name), .type = dtype::DType::F32, .rows = 1, .fill = tensor.fill};
    for (const SynthExtent extent : tensor.shape)
        if (extent != nullptr) planned.shape.push_back(extent(size));
    planned.columns = planned.shape.back();
    for (size_t i = 0; i + 1 < planned.shape.size(); ++i)
        planned.rows = mul_or_throw(planned.rows, planned.shape[i], planned.name);
    if (tensor.typed)
        planned.type = synth_storage(type, {tensor.name, layer, size.layers, planned.columns}, planned.name);
    return planned;
}

std::vector<Planned> plan_tensors(const SynthArch& arch, const SynthSize& size, const SynthType& type) {
    std::vector<Planned> all;
    const auto add = [&](bool per_layer, const std::string& prefix, int64_t layer) {
        for (const std::span<const SynthTensor> part : arch.tensors)
            for (const SynthTensor& tensor : part)
                if (tensor.per_layer == per_layer && tensor.condition(size))
                    all.push_back(plan_tensor(tensor, prefix, layer, size, type));
    };
    add(false, "", 0);
    for (int64_t layer = 0; layer < size.layers; ++layer) add(true, fmt::format("blk.{}.", layer), layer);
    return all;
}

// Says which formats stand in for the one asked for, and in how many matrices.
std::string storage_note(const std::vector<Planned>& tensors, const SynthType& type) {
    std::map<dtype::DType, int> others;
    for (const Planned& tensor : tensors)
        if (tensor.type != dtype::DType::F32 && tensor.type != type.most && tensor.type != type.better)
            ++others[tensor.type];
    std::string note;
    for (const auto& [format, count] : others)
        note += fmt::format("{}{} of {} matrices in {}", note.empty() ? "" : ", ", count, tensors.size(),
                            dtype::info(format).name);
    if (note.empty()) return note;
    return fmt::format("rows that are no whole blocks of {} put {}", type.name, note);
}

int64_t count_parameters(const std::vector<Planned>& tensors) {
    int64_t sum = 0;
    for (const Planned& tensor : tensors)
        sum = add_or_throw(sum, mul_or_throw(tensor.rows, tensor.columns, tensor.name), tensor.name);
    return sum;
}

// All that is known before anything is written.
struct FilePlan {
    const SynthArch& arch;
    SynthSize size;
    const SynthType& type;
    std::vector<Planned> tensors;
    int64_t parameters;
};

FilePlan make_plan(const SynthOptions& options) {
    const SynthArch& arch = find_synth_arch(options.arch);
    const SynthSize size = parse_synth_size(options.arch, options.size);
    const SynthType& type = find_synth_type(options.type);
    std::vector<Planned> tensors = plan_tensors(arch, size, type);
    const int64_t parameters = count_parameters(tensors);
    return {arch, size, type, std::move(tensors), parameters};
}

// --- writing

// One row after the other, in formats that encode.
class EncodedRows {
  public:
    explicit EncodedRows(const Planned& tensor)
        : format_(dtype::info(tensor.type)),
          distribution_(distribution_of(tensor.fill, tensor.columns)),
          values_(static_cast<size_t>(tensor.columns)) {}

    void fill(std::span<std::byte> row, uint64_t seed) {
        fill_row(values_, seed, distribution_);
        format_.encode(values_.data(), row.data(), static_cast<int64_t>(values_.size()));
    }

  private:
    const dtype::DTypeInfo& format_;
    Distribution distribution_;
    std::vector<float> values_;
};

// Random blocks, in formats that do not. Only matrices come here, whose mean is 0.
class RandomBlocks {
  public:
    explicit RandomBlocks(const Planned& tensor)
        : format_(dtype::info(tensor.type)),
          columns_(tensor.columns),
          deviation_(distribution_of(tensor.fill, tensor.columns).deviation) {}

    void fill(std::span<std::byte> row, uint64_t seed) {
        Random random(seed);
        for (size_t i = 0; i < row.size(); i += sizeof(uint64_t)) {
            const uint64_t bits = random.next();
            std::memcpy(&row[i], &bits, std::min(sizeof bits, row.size() - i));
        }
        format_.tame(row.data(), columns_, deviation_);
    }

  private:
    const dtype::DTypeInfo& format_;
    int64_t columns_;
    float deviation_;
};

// Gives the tensor's bytes, row by row; every row has a seed of its own.
template <class RowMaker>
void generate(const Planned& tensor, uint64_t seed, const std::function<void()>& row_done,
              const gguf::Writer::Sink& out) {
    RowMaker maker(tensor);
    Random row_seeds(seed ^ hash(tensor.name));
    std::vector<std::byte> bytes(static_cast<size_t>(dtype::row_bytes(tensor.type, tensor.columns)));
    for (int64_t row = 0; row < tensor.rows; ++row) {
        maker.fill(bytes, row_seeds.next());
        out(bytes);
        row_done();
    }
}

void set_architecture(gguf::Writer& writer, const SynthArch& arch, const SynthSize& size) {
    const auto full = [&](std::string_view key) { return fmt::format("{}.{}", arch.name, key); };
    for (const std::span<const SynthCount> part : arch.counts)
        for (const SynthCount& count : part)
            if (count.condition(size)) writer.set(full(count.key), static_cast<uint32_t>(count.value(size)));
    for (const SynthConstant& constant : arch.constants)
        std::visit([&](const auto value) { writer.set(full(constant.key), value); }, constant.value);
}

void set_metadata(gguf::Writer& writer, const SynthArch& arch, const SynthSize& size, const SynthType& type) {
    writer.set("general.architecture", arch.name);
    writer.set("general.type", "model");
    writer.set("general.name", "random weights");
    set_architecture(writer, arch, size);
    writer.set("general.quantization_version", uint32_t{2});
    writer.set("general.file_type", type.file_type);
}

void set_tokenizer(gguf::Writer& writer, const SynthVocabulary& vocabulary) {
    writer.set("tokenizer.ggml.model", "gpt2");
    writer.set("tokenizer.ggml.pre", "gpt-2");
    writer.set_strings("tokenizer.ggml.tokens", vocabulary.tokens);
    writer.set_array<int32_t>("tokenizer.ggml.token_type", vocabulary.types);
    writer.set_strings("tokenizer.ggml.merges", vocabulary.merges);
    writer.set("tokenizer.ggml.bos_token_id", vocabulary.bos);
    writer.set("tokenizer.ggml.eos_token_id", vocabulary.eos);
}

void write_file(gguf::Writer& writer, const std::vector<Planned>& tensors, const SynthOptions& options) {
    Progress progress("writing weights");
    uint64_t done = 0;
    uint64_t total = 0;
    for (const Planned& tensor : tensors) {
        total += static_cast<uint64_t>(tensor.rows * tensor.columns);
        const auto row_done = [&] { progress.update(done += static_cast<uint64_t>(tensor.columns), total); };
        writer.add({tensor.name, tensor.type, tensor.shape, [&, row_done](const gguf::Writer::Sink& out) {
                        const bool encodes = dtype::info(tensor.type).encode != nullptr;
                        (encodes ? generate<EncodedRows> : generate<RandomBlocks>)(tensor, options.seed,
                                                                                   row_done, out);
                    }});
    }
    writer.write(options.out);
}

std::string spelling_note(const SynthVocabulary& vocabulary) {
    if (vocabulary.bytes == 256) return {};
    return fmt::format(
        "the vocabulary holds {} of the 256 bytes, so only text made of those can be spelled; 258 "
        "tokens spell any",
        vocabulary.bytes);
}

std::string joined(const std::string& first, const std::string& second) {
    return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

}  // namespace

void check_synth(const SynthOptions& options) { make_plan(options); }

SynthResult synth(const SynthOptions& options) {
    const FilePlan plan = make_plan(options);
    const SynthVocabulary vocabulary = synth_vocabulary(plan.size.vocab);

    gguf::Writer writer;
    set_metadata(writer, plan.arch, plan.size, plan.type);
    set_tokenizer(writer, vocabulary);
    write_file(writer, plan.tensors, options);
    return {.size = plan.size,
            .parameters = plan.parameters,
            .bytes = std::filesystem::file_size(options.out),
            .note = joined(storage_note(plan.tensors, plan.type), spelling_note(vocabulary))};
}

}  // namespace plait::tools
