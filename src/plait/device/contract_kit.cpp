#include "plait/device/contract_kit.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "plait/base/ensure.h"

namespace plait::device::contract {
namespace {

using ir::DType;
using ir::TensorDesc;
using ir::test::kPoison;
using ir::test::make_poisoned;
using ir::test::make_tensor;

TensorDesc with_rows(TensorDesc desc, int64_t rows) {
    desc.shape[0] = rows;
    return desc;
}

TensorDesc plain_bytes(int64_t count) { return {DType::I32, {(count + 3) / 4}}; }

// Values of a graph in memory of their own.
class Interpreter {
  public:
    Interpreter(const ir::Graph& graph, const Material& material)
        : graph_(graph),
          material_(material),
          step_(view_of(graph, material_.block)),
          data_(graph.values().size()) {
        for (size_t id = 0; id < data_.size(); ++id) {
            if (graph.values()[id].producer < 0) data_[id] = source(graph.values()[id]);
        }
    }

    Expected run() {
        for (const ir::Node& node : graph_.nodes()) run_node(node);
        for (ir::ValueId output : graph_.outputs()) expected_.outputs.push_back(copy_of(output));
        expected_.state = std::move(material_.state);
        return std::move(expected_);
    }

  private:
    std::byte*& data(ir::ValueId id) { return data_[static_cast<size_t>(id)]; }
    ir::Operand operand(ir::ValueId id) { return {graph_.value(id).desc, data(id)}; }

    TestTensor copy_of(ir::ValueId id) {
        const TensorDesc& desc = graph_.value(id).desc;
        return {desc, Bytes(data(id), data(id) + desc.bytes())};
    }

    std::byte* source(const ir::Value& value) {
        const auto index = static_cast<size_t>(value.index);
        if (value.kind == ir::ValueKind::weight) return material_.weights[index].bytes.data();
        if (value.kind == ir::ValueKind::state) return material_.state[index].bytes.data();
        return ir::step_input_data(step_, static_cast<ir::StepInput>(value.index));
    }

    void run_node(const ir::Node& node) {
        if (ir::op_is_host_action(node.op)) {
            for (ir::ValueId input : node.inputs) expected_.shown.push_back(copy_of(input));
        }
        if (ir::op_is_view(node.op)) {
            data(node.outputs[0]) = data(node.inputs[0]);
            return;
        }
        if (ir::op_is_host_action(node.op)) return receive(node);
        const size_t written = ir::first_written(ir::op_writes_state(node.op), node.inputs.size());
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            const bool is_state = written < node.inputs.size();
            data(node.outputs[i]) =
                is_state ? data(node.inputs[written + i]) : memory_for(graph_.value(node.outputs[i]).desc);
        }
        std::vector<ir::Operand> inputs, outputs;
        for (ir::ValueId id : node.inputs) inputs.push_back(operand(id));
        for (ir::ValueId id : node.outputs) outputs.push_back(operand(id));
        ir::op_reference(node.op, {inputs, outputs, &step_});
    }

    void receive(const ir::Node& node) {
        for (ir::ValueId output : node.outputs) {
            TestTensor& tensor = material_.received[received_++];
            ENSURE(tensor.desc == graph_.value(output).desc, "what is received is as the graph says");
            data(output) = tensor.bytes.data();
        }
    }

    std::byte* memory_for(const TensorDesc& desc) {
        memory_.push_back(std::make_unique<TestTensor>(make_poisoned(desc)));
        return memory_.back()->bytes.data();
    }

    const ir::Graph& graph_;
    Material material_;
    ir::StepView step_;
    std::vector<std::byte*> data_;
    std::vector<std::unique_ptr<TestTensor>> memory_;
    Expected expected_;
    size_t received_ = 0;  // of material_.received
};

double tensor_error(const TestTensor& expected, const TestTensor& actual, int64_t rows) {
    const auto used = [&](const TestTensor& tensor) {
        TestTensor part{with_rows(tensor.desc, rows), tensor.bytes};
        part.bytes.resize(static_cast<size_t>(part.desc.bytes()));
        return ir::test::values_of(part);
    };
    return ir::test::normalised_error(used(expected), used(actual));
}

// Builds the small model: gives weights their indices.
class Builder {
  public:
    Builder(Device& device, const ir::test::StepSpec& spec)
        : row_layout_(device.describe().find_layout(kRowLayout)),
          graph_(spec.capacity, {{spec.page_tokens, spec.max_pages_per_sequence}}) {}

    ir::ValueId weight(const char* name, ir::Shape shape) {
        const TensorDesc desc{DType::F32, shape};
        const auto index = static_cast<int32_t>(material_.weights.size());
        material_.weights.push_back(make_tensor(desc, 100 + static_cast<uint64_t>(index)));
        material_.layouts.push_back(row_layout_);
        return graph_.weight(index, {name, desc});
    }

    ir::ValueId state(const char* name, ir::Shape shape) {
        const TensorDesc desc{DType::F32, shape};
        const auto index = static_cast<int32_t>(material_.state.size());
        material_.state.push_back(make_tensor(desc, 200 + static_cast<uint64_t>(index)));
        return graph_.state(index, name, desc);
    }

    ir::ValueId add(const ir::Op& op, const char* name, std::vector<ir::ValueId> inputs) {
        return graph_.add(op, name, std::move(inputs))[0];
    }

    ir::Graph& graph() { return graph_; }
    Material& material() { return material_; }

  private:
    const int row_layout_;
    ir::Graph graph_;
    Material material_;
};

}  // namespace

Bytes random_bytes(int64_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    Bytes bytes(static_cast<size_t>(count));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 56);
    return bytes;
}

std::unique_ptr<Buffer> alloc_rows(Device& device, const TensorDesc& desc, Usage usage) {
    return device.row_buffer_type().alloc({&desc, 1}, usage);
}

Bytes read_now(Stream& stream, const Region& from) {
    Bytes bytes(static_cast<size_t>(from.bytes()));
    stream.read(from, bytes);
    stream.synchronise();
    return bytes;
}

Resident::Resident(Device& device, Stream& stream, const Material& material) {
    const auto store = [&](const TestTensor& tensor, int layout, Usage usage, std::vector<Region>& list) {
        buffers_.push_back(device.buffer_type(layout).alloc({&tensor.desc, 1}, usage));
        list.push_back(whole(*buffers_.back(), 0));
        stream.write(list.back(), tensor.bytes);
    };
    const int row_layout = device.describe().find_layout(kRowLayout);
    for (size_t i = 0; i < material.weights.size(); ++i)
        store(material.weights[i], material.layouts[i], Usage::weights, weights_);
    for (const TestTensor& tensor : material.state) store(tensor, row_layout, Usage::state, state_);
}

std::vector<TestTensor> Resident::read_state(Stream& stream) const {
    std::vector<TestTensor> state;
    for (const Region& region : state_)
        state.push_back({region.buffer->tensors()[0], read_now(stream, region)});
    return state;
}

Slot::Slot(Device& device, Program& program, const Resident& resident, int64_t surplus_rows)
    : segments_(program.segments()) {
    const ProgramNeeds& needs = program.needs();
    for (const StoredTensor& output : needs.outputs)
        output_descs_.push_back(with_rows(output.desc, output.desc.shape[0] + surplus_rows));
    inputs_ = alloc_rows(device, {DType::I32, {needs.input_values + surplus_rows}});
    outputs_ = device.row_buffer_type().alloc(output_descs_, Usage::compute);
    scratch_ = alloc_rows(device, plain_bytes(needs.scratch_bytes + surplus_rows));
    bound_ = program.bind({.weights = resident.weights(),
                           .state = resident.state(),
                           .inputs = inputs_.get(),
                           .outputs = outputs_.get(),
                           .scratch = scratch_.get()});
}

void Slot::write_step(Stream& stream, std::span<const int32_t> block) {
    const auto bytes = std::as_bytes(block);
    stream.write({.buffer = inputs_.get(), .row_bytes = static_cast<int64_t>(bytes.size())}, bytes);
    for (size_t i = 0; i < output_descs_.size(); ++i) {
        const TestTensor poison = make_poisoned(output_descs_[i]);
        stream.write(whole(*outputs_, static_cast<int32_t>(i)), poison.bytes);
    }
}

void Slot::run(Stream& stream, StopWord& stop) {
    for (int segment = 0; segment < segments_; ++segment) run_segment(stream, segment, stop);
}

void Slot::read_outputs(Stream& stream, std::vector<TestTensor>& to) const {
    to.clear();
    for (const TensorDesc& desc : output_descs_)
        to.push_back({desc, Bytes(static_cast<size_t>(desc.bytes()))});
    for (size_t i = 0; i < to.size(); ++i)
        stream.read(whole(*outputs_, static_cast<int32_t>(i)), to[i].bytes);
}

Expected run_by_reference(const ir::Graph& graph, const Material& material) {
    return Interpreter(graph, material).run();
}

double output_error(std::span<const TestTensor> expected, std::span<const TestTensor> actual,
                    const ir::StepView& step) {
    ENSURE(expected.size() == actual.size(), "programs have the outputs of their graph");
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const int64_t rows = ir::Call{{}, {}, &step}.rows(expected[i].operand());
        const auto rest =
            std::span(actual[i].bytes).subspan(static_cast<size_t>(rows * actual[i].desc.slice_bytes()));
        const bool clean = std::ranges::all_of(rest, [](std::byte byte) { return byte == kPoison; });
        if (!clean) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, tensor_error(expected[i], actual[i], rows));
    }
    return largest;
}

double state_error(std::span<const TestTensor> expected, std::span<const TestTensor> actual) {
    ENSURE(expected.size() == actual.size(), "programs keep their state");
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i)
        largest = std::max(largest, tensor_error(expected[i], actual[i], expected[i].desc.shape[0]));
    return largest;
}

SmallModel small_model(Device& device, const ir::test::StepSpec& spec) {
    Builder b(device, spec);
    const ir::ValueId x = b.add(ir::Embed{}, "embed",
                                {b.weight("table", {32, 64}), b.graph().step_input(ir::StepInput::tokens)});
    const ir::ValueId normed = b.add(ir::RmsNorm{1e-5f}, "norm", {x, b.weight("norm", {64})});
    const auto heads = [&](const char* name, const char* split, int64_t count) {
        const ir::ValueId flat = b.add(ir::Matmul{}, name, {normed, b.weight(name, {count * 16, 64})});
        return b.add(ir::SplitHeads{count}, split, {flat});
    };
    const ir::ValueId q = heads("q", "q heads", 4);
    const ir::ValueId k = heads("k", "k heads", 2);
    const ir::ValueId v = heads("v", "v heads", 2);
    const ir::Shape pool{spec.pages, 2, spec.page_tokens, 16};
    const auto copied =
        b.graph().add(ir::CopyPages{}, "copy", {b.state("keys", pool), b.state("values", pool)});
    const ir::ValueId keys = b.add(ir::KvWrite{}, "keep k", {k, copied[0]});
    const ir::ValueId values = b.add(ir::KvWrite{}, "keep v", {v, copied[1]});
    const ir::ValueId attended = b.add(ir::Attention{.scale = 0.25f}, "attention", {q, keys, values});
    const ir::ValueId merged = b.add(ir::MergeHeads{}, "merge", {attended});
    const ir::ValueId mixed = b.add(ir::Matmul{}, "mix", {merged, b.weight("mix", {64, 64})});
    const ir::ValueId sum = b.add(ir::Add{}, "sum", {x, mixed});
    const ir::ValueId tapped = b.add(ir::Tap{}, "tap", {sum});
    const ir::ValueId up = b.add(ir::Matmul{}, "up", {tapped, b.weight("up", {96, 64})});
    const ir::ValueId bent = b.add(ir::Activate{ir::Activation::silu}, "bend", {up});
    const ir::ValueId down = b.add(ir::Matmul{}, "down", {bent, b.weight("down", {64, 96})});
    const ir::ValueId all = b.add(ir::Add{}, "all", {tapped, down});
    const ir::ValueId wanted =
        b.add(ir::GatherRows{}, "wanted", {all, b.graph().step_input(ir::StepInput::output_rows)});
    b.graph().set_outputs({wanted, all});
    const ir::test::TestStep step(spec);
    b.material().block.assign(step.block().begin(), step.block().end());
    return {std::move(b.graph()), std::move(b.material())};
}

ir::test::StepSpec small_step() {
    return {.capacity = {8, 3, 3},
            .sequences = {{0, 3}, {5, 2}},
            .page_tokens = 4,
            .pages = 12,
            .max_pages_per_sequence = 4,
            .vocabulary = 32};
}

ir::StepView view_of(const ir::Graph& graph, std::vector<int32_t>& block) {
    return ir::StepLayout(graph.capacity(), graph.groups()).view(block.data());
}

}  // namespace plait::device::contract
