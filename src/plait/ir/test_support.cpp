#include "plait/ir/test_support.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::ir::test {
namespace {

constexpr int32_t kNoIndex = std::numeric_limits<int32_t>::min();

// Fisher and Yates by hand: the standard library's shuffle differs between implementations.
std::vector<int32_t> shuffled_pages(int32_t pages, uint64_t seed) {
    std::vector<int32_t> order(static_cast<size_t>(pages));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(seed);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    return order;
}

std::vector<StepGroupLimits> group_limits(const StepSpec& spec) {
    return {{spec.page_tokens, spec.max_pages_per_sequence}};
}

std::vector<DType> types_where(bool (*wanted)(DType)) {
    std::vector<DType> types;
    for (const dtype::DTypeInfo& row : dtype::table())
        if (wanted(row.type)) types.push_back(row.type);
    return types;
}

// Spread like random_values.
TestTensor make_random_blocks(const TensorDesc& desc, uint64_t seed) {
    TestTensor tensor = make_poisoned(desc);
    std::mt19937_64 random(seed);
    for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random());
    const int64_t width = dtype::padded_elements(desc.type, desc.shape.last());
    dtype::info(desc.type).tame(tensor.bytes.data(), desc.row_count() * width, 0.577f);
    return tensor;
}

}  // namespace

std::vector<DType> weight_types() {
    return types_where([](DType type) { return type != DType::I32; });
}

std::vector<DType> cache_types() { return types_where(dtype::is_cache_format); }

std::vector<float> random_values(int64_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<float> values(static_cast<size_t>(count));
    // 24 bits are what a float holds exactly.
    for (float& value : values) value = static_cast<float>(random() >> 40) * 0x1p-23f - 1.0f;
    return values;
}

std::vector<int32_t> random_ids(int64_t count, int32_t below, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<int32_t> ids(static_cast<size_t>(count));
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<uint64_t>(below));
    return ids;
}

TestTensor make_tensor(const TensorDesc& desc, std::span<const float> values) {
    ENSURE(static_cast<int64_t>(values.size()) == desc.shape.elements(), desc.text());
    ENSURE(dtype::info(desc.type).encode != nullptr, desc.text());
    TestTensor tensor = make_poisoned(desc);
    const int64_t width = desc.shape.last();
    std::vector<float> row(static_cast<size_t>(dtype::padded_elements(desc.type, width)), 0.0f);
    for (int64_t r = 0; r < desc.row_count(); ++r) {
        std::copy_n(values.begin() + r * width, width, row.begin());
        dtype::info(desc.type).encode(row.data(), tensor.operand().row(r), static_cast<int64_t>(row.size()));
    }
    return tensor;
}

TestTensor make_tensor(const TensorDesc& desc, uint64_t seed) {
    if (dtype::info(desc.type).encode == nullptr) return make_random_blocks(desc, seed);
    return make_tensor(desc, random_values(desc.shape.elements(), seed));
}

TestTensor make_ids(const TensorDesc& desc, std::span<const int32_t> ids) {
    ENSURE(desc.type == DType::I32 && static_cast<int64_t>(ids.size()) == desc.shape.elements(), desc.text());
    TestTensor tensor = make_poisoned(desc);
    std::copy(ids.begin(), ids.end(), tensor.operand().as<int32_t>());
    return tensor;
}

TestTensor make_poisoned(const TensorDesc& desc) {
    return {desc, std::vector<std::byte>(static_cast<size_t>(desc.bytes()), kPoison)};
}

TestTensor part_of(const TestTensor& tensor, int axis, int64_t begin, int64_t count) {
    const Shape& shape = tensor.desc.shape;
    const bool innermost = axis + 1 == shape.rank();
    ENSURE(begin >= 0 && count >= 0 && begin + count <= shape[axis], tensor.desc.text());
    ENSURE(!innermost || dtype::info(tensor.desc.type).block_elements == 1, tensor.desc.text());
    int64_t bytes = innermost ? dtype::row_bytes(tensor.desc.type, 1) : tensor.desc.row_bytes();
    for (int inner = axis + 1; inner + 1 < shape.rank(); ++inner) bytes *= shape[inner];
    TestTensor part{tensor.desc, {}};
    part.desc.shape[axis] = count;
    const int64_t stride = shape[axis] * bytes;
    for (int64_t at = begin * bytes; at < static_cast<int64_t>(tensor.bytes.size()); at += stride)
        part.bytes.insert(part.bytes.end(), tensor.bytes.begin() + at,
                          tensor.bytes.begin() + at + count * bytes);
    return part;
}

std::vector<float> values_of(const TestTensor& tensor) {
    const TensorDesc& desc = tensor.desc;
    const int64_t width = desc.shape.last();
    std::vector<float> row(static_cast<size_t>(dtype::padded_elements(desc.type, width)));
    std::vector<float> values;
    for (int64_t r = 0; r < desc.row_count(); ++r) {
        dtype::info(desc.type).decode(tensor.operand().row(r), row.data(), static_cast<int64_t>(row.size()));
        values.insert(values.end(), row.begin(), row.begin() + width);
    }
    return values;
}

std::vector<int32_t> ids_of(const TestTensor& tensor) {
    ENSURE(tensor.desc.type == DType::I32, tensor.desc.text());
    const auto* ids = tensor.operand().as<int32_t>();
    return {ids, ids + tensor.desc.shape.elements()};
}

TestStep::TestStep(const StepSpec& spec)
    : layout_(spec.capacity, group_limits(spec)),
      block_(static_cast<size_t>(layout_.values()), kNoIndex),
      view_(layout_.view(block_.data())) {
    fill_sequences(spec);
    fill_outputs(spec);
    fill_copies(spec);
    fill_choices(spec);
}

void TestStep::fill_sequences(const StepSpec& spec) {
    ENSURE(spec.sequences.size() < view_.token_begin.size(), "a test's sequences fit its capacity");
    ENSURE(static_cast<int64_t>(spec.sequences.size()) * spec.max_pages_per_sequence <= spec.pages,
           "a test's state has pages for every sequence");
    const std::vector<int32_t> places = shuffled_pages(spec.pages, spec.page_seed);
    StepGroup& group = view_.groups[0];
    size_t token = 0;
    size_t page = 0;
    view_.token_begin[0] = 0;
    group.page_begin[0] = 0;
    for (size_t s = 0; s < spec.sequences.size(); ++s) {
        const auto [past, tokens] = spec.sequences[s];
        ENSURE(token + static_cast<size_t>(tokens) <= view_.tokens.size(),
               "a test's tokens fit its capacity");
        const size_t first_place = s * static_cast<size_t>(spec.max_pages_per_sequence);
        for (int32_t position = past; position < past + tokens; ++position, ++token) {
            const size_t place = first_place + static_cast<size_t>(position / spec.page_tokens);
            view_.positions[token] = position;
            group.write_slots[token] = places[place] * spec.page_tokens + position % spec.page_tokens;
        }
        group.lengths[s] = past + tokens;
        const int32_t used = (past + tokens + spec.page_tokens - 1) / spec.page_tokens;
        ENSURE(used <= spec.max_pages_per_sequence, "a test's sequence fits its pages");
        const int32_t behind = spec.window == 0 ? 0 : std::max(0, past - spec.window + 1) / spec.page_tokens;
        for (int32_t i = behind; i < used; ++i)
            group.pages[page++] = places[first_place + static_cast<size_t>(i)];
        group.first_page[s] = behind;
        view_.token_begin[s + 1] = static_cast<int32_t>(token);
        group.page_begin[s + 1] = static_cast<int32_t>(page);
    }
    *view_.sequence_count = static_cast<int32_t>(spec.sequences.size());
    *view_.token_count = static_cast<int32_t>(token);
    const std::vector<int32_t> ids = random_ids(*view_.token_count, spec.vocabulary, spec.page_seed);
    std::copy(ids.begin(), ids.end(), view_.tokens.begin());
}

void TestStep::fill_outputs(const StepSpec& spec) {
    std::vector<int32_t> rows = spec.output_rows;
    for (size_t s = 0; spec.output_rows.empty() && s < spec.sequences.size(); ++s) {
        if (spec.sequences[s].tokens > 0) rows.push_back(view_.token_begin[s + 1] - 1);
    }
    ENSURE(rows.size() <= view_.output_rows.size(), "a test's outputs fit its capacity");
    std::copy(rows.begin(), rows.end(), view_.output_rows.begin());
    *view_.output_count = static_cast<int32_t>(rows.size());
}

void TestStep::fill_copies(const StepSpec& spec) {
    StepGroup& group = view_.groups[0];
    ENSURE(spec.copies.size() <= group.copy_from.size(), "a test's page copies fit its capacity");
    for (size_t i = 0; i < spec.copies.size(); ++i) {
        group.copy_from[i] = spec.copies[i].from;
        group.copy_to[i] = spec.copies[i].to;
    }
    *group.copy_count = static_cast<int32_t>(spec.copies.size());
}

void TestStep::fill_choices(const StepSpec& spec) {
    int64_t row = 0;
    for (const TestChoice& choice : spec.choices)
        ENSURE(view_.choices.fill(row++, choice.ask, choice.changes), "a test's changes fit its capacity");
}

StepSpec simple_spec(int32_t capacity, int32_t tokens) {
    StepSpec spec{.capacity = {capacity, 1, 1}, .sequences = {{0, tokens}}};
    spec.max_pages_per_sequence = spec.pages;
    return spec;
}

std::vector<TestTensor> make_outputs(const Op& op, std::span<const TestTensor> inputs) {
    std::vector<TensorDesc> descs;
    for (const TestTensor& input : inputs) descs.push_back(input.desc);
    const auto written = inputs.subspan(first_written(op_writes_state(op), inputs.size()));
    if (!written.empty()) return {written.begin(), written.end()};
    std::vector<TestTensor> outputs;
    for (const TensorDesc& desc : op_infer(op, descs)) outputs.push_back(make_poisoned(desc));
    return outputs;
}

std::vector<TestTensor> run_reference(const Op& op, std::span<const TestTensor> inputs,
                                      const TestStep& step) {
    std::vector<TestTensor> outputs = make_outputs(op, inputs);
    std::vector<Operand> input_operands;
    std::vector<Operand> output_operands;
    for (const TestTensor& input : inputs) input_operands.push_back(input.operand());
    for (const TestTensor& output : outputs) output_operands.push_back(output.operand());
    op_reference(op, {input_operands, output_operands, &step.view()});
    return outputs;
}

int64_t actual_rows(const TestTensor& tensor, const TestStep& step) {
    return Call{{}, {}, &step.view()}.rows(tensor.operand());
}

bool rest_is_poisoned(const TestTensor& output, const TestStep& step) {
    const int64_t used = actual_rows(output, step) * output.desc.slice_bytes();
    return std::all_of(output.bytes.begin() + used, output.bytes.end(),
                       [](std::byte byte) { return byte == kPoison; });
}

double normalised_error(std::span<const float> expected, std::span<const float> actual) {
    ENSURE(expected.size() == actual.size(), "only equally many values can be compared");
    double difference = 0;
    double size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        difference += std::pow(static_cast<double>(expected[i]) - actual[i], 2);
        size += std::pow(static_cast<double>(expected[i]), 2);
    }
    const double error = difference / (size == 0 ? 1.0 : size);
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

std::string refusal(const Op& op, std::vector<TensorDesc> inputs) {
    try {
        op_infer(op, inputs);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace plait::ir::test
