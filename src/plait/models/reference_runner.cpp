#include "plait/models/reference_runner.h"

#include <algorithm>

#include "plait/base/ensure.h"

namespace plait::models::test {
namespace {

constexpr std::byte kNanByte{0xff};          // four of them are a NaN, two of them a NaN in F16
constexpr int32_t kImpossible = 0x70000000;  // as an id, a row or a page

std::vector<StatePages> state_pages(const Model& model, const ReferenceOptions& options, int64_t pages) {
    return std::vector<StatePages>(model.state_groups().size(), {options.page_tokens, pages, pages});
}

ir::Graph build_graph(const Model& model, const ReferenceOptions& options, int64_t pages) {
    const std::vector<StatePages> groups = state_pages(model, options, pages);
    const ir::Capacity capacity{
        .tokens = options.step_tokens, .outputs = options.step_tokens, .sequences = 1};
    return model.build({.capacity = capacity, .pages = groups, .taps = options.taps});
}

}  // namespace

ReferenceRunner::ReferenceRunner(const Model& model, const gguf::File& file, const ReferenceOptions& options)
    : options_(options),
      pages_((options.context + options.page_tokens - 1) / options.page_tokens),
      graph_(build_graph(model, options, pages_)),
      layout_(graph_.capacity(), graph_.groups()),
      block_(static_cast<size_t>(layout_.values())),
      step_(layout_.view(block_.data())),
      data_(graph_.values().size()) {
    for (size_t id = 0; id < data_.size(); ++id) {
        const ir::Value& value = graph_.values()[id];
        if (value.producer < 0) data_[id] = source_data(value, model, file);
    }
    for (const ir::Node& node : graph_.nodes()) {
        for (size_t output = 0; output < node.outputs.size(); ++output)
            data_[static_cast<size_t>(node.outputs[output])] = output_data(node, output);
    }
}

std::byte* ReferenceRunner::allocate(int64_t bytes) {
    return buffers_.emplace_back(static_cast<size_t>(bytes), kNanByte).data();
}

std::byte* ReferenceRunner::source_data(const ir::Value& value, const Model& model, const gguf::File& file) {
    switch (value.kind) {
        case ir::ValueKind::weight: {
            const ir::WeightSpec& spec = model.weights()[static_cast<size_t>(value.index)];
            const gguf::Tensor* tensor = file.find_tensor(spec.name);
            ENSURE(tensor != nullptr, spec.name);
            ENSURE(static_cast<int64_t>(tensor->data.size()) == value.desc.bytes(), spec.name);
            return const_cast<std::byte*>(tensor->data.data());  // inputs of a call are only read
        }
        case ir::ValueKind::state:
            return allocate(value.desc.bytes());
        case ir::ValueKind::step_input:
            return ir::step_input_data(step_, static_cast<ir::StepInput>(value.index));
        case ir::ValueKind::activation:
            break;
    }
    ENSURE(false, value.name);
}

std::byte* ReferenceRunner::output_data(const ir::Node& node, size_t output) {
    const auto data_of_input = [&](size_t input) { return data_[static_cast<size_t>(node.inputs[input])]; };
    if (ir::op_is_view(node.op)) return data_of_input(0);
    const size_t written = ir::first_written(ir::op_writes_state(node.op), node.inputs.size());
    if (written < node.inputs.size()) return data_of_input(written + output);
    return allocate(graph_.value(node.outputs[output]).desc.bytes());
}

ir::Operand ReferenceRunner::operand(ir::ValueId id) const {
    return {graph_.value(id).desc, data_[static_cast<size_t>(id)]};
}

void ReferenceRunner::write_pages(ir::StepGroup& group, int64_t count) {
    const auto page_of = [&](int64_t position) { return pages_ - 1 - position / options_.page_tokens; };
    const int64_t length = length_ + count;
    const int64_t used_pages = (length + options_.page_tokens - 1) / options_.page_tokens;
    for (int64_t t = 0; t < count; ++t) {
        const int64_t position = length_ + t;
        const int64_t slot = page_of(position) * options_.page_tokens + position % options_.page_tokens;
        group.write_slots[static_cast<size_t>(t)] = static_cast<int32_t>(slot);
    }
    for (int64_t page = 0; page < used_pages; ++page) {
        group.pages[static_cast<size_t>(page)] = static_cast<int32_t>(page_of(page * options_.page_tokens));
    }
    group.lengths[0] = static_cast<int32_t>(length);
    group.page_begin[0] = 0;
    group.page_begin[1] = static_cast<int32_t>(used_pages);
    group.first_page[0] = 0;
    *group.copy_count = 0;
}

void ReferenceRunner::write_step(std::span<const int32_t> ids) {
    std::ranges::fill(block_, kImpossible);
    const auto count = static_cast<int32_t>(ids.size());
    *step_.token_count = count;
    *step_.output_count = count;
    *step_.sequence_count = 1;
    std::ranges::copy(ids, step_.tokens.begin());
    for (int32_t t = 0; t < count; ++t) {
        step_.positions[static_cast<size_t>(t)] = static_cast<int32_t>(length_) + t;
        step_.output_rows[static_cast<size_t>(t)] = t;
    }
    step_.token_begin[0] = 0;
    step_.token_begin[1] = count;
    for (ir::StepGroup& group : step_.groups) write_pages(group, count);
}

void ReferenceRunner::run_node(const ir::Node& node) {
    if (ir::op_is_view(node.op)) return;
    std::vector<ir::Operand> inputs;
    std::vector<ir::Operand> outputs;
    for (const ir::ValueId id : node.inputs) inputs.push_back(operand(id));
    for (const ir::ValueId id : node.outputs) outputs.push_back(operand(id));
    ir::op_reference(node.op, {.inputs = inputs, .outputs = outputs, .step = &step_});
}

void ReferenceRunner::run_step(std::span<const int32_t> ids, std::vector<float>& logits) {
    write_step(ids);
    for (const ir::Node& node : graph_.nodes()) run_node(node);
    length_ += static_cast<int64_t>(ids.size());
    const ir::Operand result = operand(graph_.outputs()[0]);
    const auto values = static_cast<int64_t>(ids.size()) * result.desc.shape.last();
    logits.insert(logits.end(), result.as<float>(), result.as<float>() + values);
}

std::vector<float> ReferenceRunner::feed(std::span<const int32_t> ids) {
    ENSURE(length_ + static_cast<int64_t>(ids.size()) <= options_.context, "the sequence fits its context");
    std::vector<float> logits;
    while (!ids.empty()) {
        const size_t count = std::min(ids.size(), static_cast<size_t>(options_.step_tokens));
        run_step(ids.first(count), logits);
        ids = ids.subspan(count);
    }
    return logits;
}

}  // namespace plait::models::test
