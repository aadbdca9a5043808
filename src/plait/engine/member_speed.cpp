#include "plait/engine/member_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <random>

#include "plait/base/error.h"
#include "plait/ir/graph.h"

namespace plait::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kRowWeights = 1024;  // a multiple of every block
constexpr int64_t kTableRows = 8;      // activations to take tokens from
constexpr int64_t kFewestRows = 64;
constexpr int64_t kManyTokens = 64;
// Long beside what it takes to wake workers; matrices grow until a product takes this long, which on a device
// that is fast enough means that they do not fit into its caches, or until they have this size.
constexpr double kProductSeconds = 2e-3;
constexpr int64_t kMostBytes = int64_t{64} << 20;
constexpr int64_t kMemoryPart = 16;  // of a device's memory, at most one of so many parts
constexpr int kTurns = 5;

// The first rows of random values, again and again: encoding takes longer than everything else.
std::vector<std::byte> values_for(const ir::TensorDesc& desc) {
    const dtype::DTypeInfo& format = dtype::info(desc.type);
    const int64_t count = std::min(desc.row_count(), kFewestRows) * desc.shape.last();
    std::vector<std::byte> some(static_cast<size_t>(dtype::row_bytes(desc.type, count)));
    std::mt19937 random(1);
    if (format.encode != nullptr) {
        std::vector<float> values(static_cast<size_t>(count));
        std::uniform_real_distribution<float> uniform(-1, 1);
        for (float& value : values) value = uniform(random);
        format.encode(values.data(), some.data(), count);
    } else {
        for (std::byte& byte : some) byte = static_cast<std::byte>(random());
        format.tame(some.data(), count, 0.1f);
    }
    std::vector<std::byte> all;
    while (static_cast<int64_t>(all.size()) < desc.bytes()) all.insert(all.end(), some.begin(), some.end());
    all.resize(static_cast<size_t>(desc.bytes()));
    return all;
}

// One product on a device: rows of a table, chosen by token, times a matrix.
class Product {
  public:
    Product(device::Device& device, const ir::TensorDesc& matrix, int64_t tokens)
        : stream_(device.make_stream()), weights_(matrix.shape.elements() * tokens) {
        const ir::TensorDesc table{ir::DType::F32, {kTableRows, kRowWeights}};
        const ir::Graph graph = graph_of(table, matrix, tokens);
        const ir::Graph* const graphs[] = {&graph};
        const std::vector<int> layouts = device.choose_layouts(graphs, 2);
        program_ = device.compile(graph, layouts);
        load(device, table, layouts[0]);
        load(device, matrix, layouts[1]);
        bind(device, tokens);
    }

    // Of one run.
    double seconds() {
        const auto start = Clock::now();
        for (int segment = 0; segment < program_->segments(); ++segment)
            stream_->run(*bound_, segment, stop_);
        stream_->synchronise();
        if (stop_.stopped()) throw Error(stop_.message());
        return std::chrono::duration<double>(Clock::now() - start).count();
    }

    // Weights times tokens, in one run.
    double weights() const { return static_cast<double>(weights_); }

  private:
    static ir::Graph graph_of(const ir::TensorDesc& table, const ir::TensorDesc& matrix, int64_t tokens) {
        ir::Graph graph({tokens, 1, 1}, {});
        const ir::ValueId ids = graph.step_input(ir::StepInput::tokens);
        const ir::ValueId rows =
            graph.add(ir::Embed{}, "rows", {graph.weight(0, {"table", table, {}}), ids})[0];
        graph.set_outputs(
            graph.add(ir::Matmul{}, "product", {rows, graph.weight(1, {"matrix", matrix, {}})}));
        return graph;
    }

    void load(device::Device& device, const ir::TensorDesc& desc, int layout) {
        memory_.push_back(device.buffer_type(layout).alloc({&desc, 1}, device::Usage::weights));
        regions_.push_back(device::whole(*memory_.back(), 0));
        stream_->write(regions_.back(), values_for(desc));
    }

    device::Buffer& compute(device::Device& device, std::span<const device::StoredTensor> tensors) {
        return *memory_.emplace_back(device.row_buffer_type().alloc(tensors, device::Usage::compute));
    }
    device::Buffer& compute(device::Device& device, ir::DType type, int64_t values) {
        const device::StoredTensor tensor(ir::TensorDesc{type, {values}});
        return compute(device, {&tensor, 1});
    }

    void bind(device::Device& device, int64_t tokens) {
        const device::ProgramNeeds& needs = program_->needs();
        device::Buffer& inputs = compute(device, ir::DType::I32, needs.input_values);
        bound_ = program_->bind({.weights = regions_,
                                 .inputs = &inputs,
                                 .outputs = &compute(device, needs.outputs),
                                 .scratch = &compute(device, ir::DType::F32, needs.scratch_bytes / 4 + 1)});
        std::vector<int32_t> block(static_cast<size_t>(needs.input_values));
        ir::StepView step = ir::StepLayout({tokens, 1, 1}, {}).view(block.data());
        *step.token_count = static_cast<int32_t>(tokens);
        *step.output_count = *step.sequence_count = 1;
        for (size_t t = 0; t < step.tokens.size(); ++t) step.tokens[t] = static_cast<int32_t>(t % kTableRows);
        step.token_begin[1] = static_cast<int32_t>(tokens);
        stream_->write(device::whole(inputs, 0), std::as_bytes(std::span(block)));
        bound_->prepare(step);
        stream_->synchronise();
    }

    std::vector<std::unique_ptr<device::Buffer>> memory_;
    std::vector<device::Region> regions_;
    std::unique_ptr<device::Program> program_;
    std::unique_ptr<device::BoundProgram> bound_;
    std::unique_ptr<device::Stream> stream_;
    StopWord stop_;
    int64_t weights_;
};

// A product long enough to be timed.
std::unique_ptr<Product> product_on(device::Device& device, dtype::DType format, int64_t tokens) {
    ir::TensorDesc matrix{format, {kFewestRows, kRowWeights}};
    const int64_t most = std::min(kMostBytes, device.describe().memory_bytes / kMemoryPart);
    auto product = std::make_unique<Product>(device, matrix, tokens);
    for (;;) {
        (void)product->seconds();  // the first run pays for pages and for waking up
        if (product->seconds() >= kProductSeconds || 2 * matrix.bytes() > most) return product;
        // To where it should be long enough, but by steps: what is small may be slow for other reasons.
        matrix.shape[0] *= 2;
        product.reset();
        product = std::make_unique<Product>(device, matrix, tokens);
    }
}

// One device, for as long as it is measured.
class Measured {
  public:
    Measured(device::Device& device, dtype::DType format)
        : one_(product_on(device, format, 1)), many_(product_on(device, format, kManyTokens)) {}

    void take_turn() {
        best_.one_token = std::max(best_.one_token, one_->weights() / one_->seconds());
        best_.many_tokens = std::max(best_.many_tokens, many_->weights() / many_->seconds());
    }
    const MemberSpeed& best() const { return best_; }

  private:
    std::unique_ptr<Product> one_, many_;
    MemberSpeed best_;
};

// Devices with equal texts are equally fast.
std::string likeness_of(const device::DeviceDescription& device, dtype::DType format) {
    return fmt::format("{}|{}|{}|{}|{}|{}", device.kind, device.signature, device.workers, device.cores,
                       device.node, dtype::info(format).name);
}

// Of this machine, as long as the process lives: a second engine is to get the shares of the first.
struct Known {
    std::mutex mutex;
    std::map<std::string, MemberSpeed> speeds;
};
Known& known() {
    static Known speeds;
    return speeds;
}

}  // namespace

double MemberSpeed::both() const { return std::sqrt(one_token * many_tokens); }

std::vector<MemberSpeed> measure_members(std::span<const std::unique_ptr<device::Device>> devices,
                                         dtype::DType format) {
    const std::lock_guard lock(known().mutex);
    std::map<std::string, MemberSpeed>& speeds = known().speeds;
    std::map<std::string, std::unique_ptr<Measured>> measured;
    for (const auto& device : devices) {
        const std::string likeness = likeness_of(device->describe(), format);
        if (speeds.contains(likeness) || measured.contains(likeness)) continue;
        try {
            measured[likeness] = std::make_unique<Measured>(*device, format);
        } catch (const Error& error) {
            throw Error(
                fmt::format("{}: its speed cannot be measured: {}; shares of your own (-ts) need not be",
                            device->describe().name, error.what()));
        }
    }
    for (int turn = 0; turn < kTurns; ++turn)
        for (auto& [likeness, device] : measured) device->take_turn();
    for (const auto& [likeness, device] : measured) speeds[likeness] = device->best();
    std::vector<MemberSpeed> all;
    for (const auto& device : devices) all.push_back(speeds.at(likeness_of(device->describe(), format)));
    return all;
}

dtype::DType most_common_format(const gguf::File& file) {
    std::map<dtype::DType, size_t> bytes;
    for (const gguf::Tensor& tensor : file.tensors()) {
        if (tensor.type && tensor.rank >= 2) bytes[*tensor.type] += tensor.data.size();
    }
    const auto most = std::ranges::max_element(bytes, {}, [](const auto& format) { return format.second; });
    return most == bytes.end() ? dtype::DType::F32 : most->first;
}

}  // namespace plait::engine
