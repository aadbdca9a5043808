#include "plait/backends/cpu/product_speed.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <vector>

#include "plait/backends/cpu/kernels/by_format.h"
#include "plait/backends/cpu/memory.h"

namespace plait::backends::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// A worker's share: rows of one or two items, as many tokens as an item takes if their activations fit half
// of a second-level cache with the weights.
constexpr int64_t kRows = 64;
constexpr int64_t kMostTokens = 128;
constexpr int64_t kLongestRow = 2048;
constexpr int64_t kActivationBytes = int64_t{512} << 10;

constexpr auto kTime = std::chrono::milliseconds(25);
constexpr auto kPass = std::chrono::milliseconds(4);  // long beside what it takes to wake the workers
constexpr int kLeastPasses = 4;

// The best of several passes, operations per second, of `operations(repetitions)`, which says how many it has
// done. Passes become longer until they have the length wanted.
template <class Operations>
double best_rate(const Operations& operations) {
    double best = 0;
    int64_t repetitions = 1;
    const auto begin = Clock::now();
    for (int pass = 0; pass < kLeastPasses || Clock::now() - begin < kTime; ++pass) {
        const auto start = Clock::now();
        const double done = operations(repetitions);
        const Clock::duration taken = Clock::now() - start;
        best = std::max(best, done / std::chrono::duration<double>(taken).count());
        if (taken < kPass) repetitions *= 2;
    }
    return best;
}

// Calls `work(worker)` on the first `workers` workers.
template <class Work>
void run_on(Runner& runner, int workers, const Work& work) {
    struct Job {
        const Work& work;
        int workers;
    } job{work, workers};
    runner.run_job(
        [](void* context, int worker) {
            const Job& asked = *static_cast<Job*>(context);
            if (worker < asked.workers) asked.work(worker);
        },
        &job);
}

double sequence_rate(simd::SequenceFn sequence, Runner& runner, int workers) {
    std::vector<int64_t> products(static_cast<size_t>(workers));
    return best_rate([&](int64_t repetitions) {
        run_on(runner, workers,
               [&](int worker) { products[static_cast<size_t>(worker)] = sequence(repetitions); });
        double sum = 0;
        for (const int64_t count : products) sum += static_cast<double>(count);
        return 2 * sum;
    });
}

std::vector<float> random_values(int64_t count) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = uniform(random);
    return values;
}

// Values as small as those of models, so that nothing is slow because it overflows or is denormal.
std::vector<std::byte> random_matrix(const ir::TensorDesc& desc) {
    const dtype::DTypeInfo& format = dtype::info(desc.type);
    const int64_t stored = dtype::padded_elements(desc.type, desc.shape.last()) * desc.row_count();
    std::vector<std::byte> bytes(static_cast<size_t>(desc.bytes()));
    if (format.encode != nullptr) {
        format.encode(random_values(stored).data(), bytes.data(), stored);
    } else {
        std::mt19937 random(1);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        format.tame(bytes.data(), stored, 0.1f);
    }
    return bytes;
}

ir::TensorDesc floats(int64_t rows, int64_t width) { return {ir::DType::F32, {rows, width}}; }
ir::TensorDesc bytes_as_floats(int64_t bytes) { return floats(1, (bytes + 3) / 4); }

// One product, which every worker computes for itself from operands that all share.
class Tile {
  public:
    Tile(const ProductUnderTest& product, Runner& runner, device::Stream& stream)
        : product_(product),
          runner_(runner),
          weight_{product.weight.type, {kRows, std::min(product.weight.shape.last(), kLongestRow)}},
          x_(floats(tokens(), weight_.shape.last())) {
        weights_ = product.weights.alloc(std::span(&weight_, 1), device::Usage::weights);
        stream.write(device::whole(*weights_, 0), random_matrix(weight_));
        stream.synchronise();
        memory_ = product.workspace.alloc(tensors(), device::Usage::compute);
        fill_activations();
        make_calls();
    }

    double rate() {
        const int workers = runner_.workers();
        const double products = static_cast<double>(workers) * static_cast<double>(weight_.shape.elements()) *
                                static_cast<double>(x_.shape[0]);
        return best_rate([&](int64_t repetitions) {
            run_on(runner_, workers, [&](int worker) {
                for (int64_t i = 0; i < repetitions; ++i) run(worker);
            });
            return 2 * products * static_cast<double>(repetitions);
        });
    }

  private:
    // What a worker has of its own, behind what all share.
    enum Tensor : int32_t { activations, quantised, first_own };

    bool is_quantised() const { return product_.kernel.activation == ActivationFormat::q8; }
    int64_t tokens() const {
        const int64_t k = weight_.shape.last();
        const int64_t row = is_quantised()
                                ? k / kQuantisedBlock * static_cast<int64_t>(sizeof(simd::ActBlock))
                                : k * static_cast<int64_t>(sizeof(float));
        return std::clamp<int64_t>(kActivationBytes / row, 1, kMostTokens);
    }
    int64_t workspace_bytes() const {
        const std::array inputs{x_, weight_};
        return product_.kernel.workspace_bytes == nullptr ? 0 : product_.kernel.workspace_bytes(op_, inputs);
    }

    std::vector<ir::TensorDesc> tensors() const {
        std::vector<ir::TensorDesc> all = {x_, bytes_as_floats(quantised_bytes(x_.shape.elements()))};
        for (int worker = 0; worker < runner_.workers(); ++worker) {
            all.push_back(floats(x_.shape[0], kRows));
            all.push_back(bytes_as_floats(workspace_bytes()));
        }
        return all;
    }
    std::byte* at(int32_t tensor) const { return static_cast<CpuBuffer&>(*memory_).begin(tensor); }
    std::byte* workspace(int worker) const { return at(first_own + 2 * worker + 1); }

    void fill_activations() {
        const int64_t n = x_.shape.elements();
        std::ranges::copy(random_values(n), reinterpret_cast<float*>(at(activations)));
        if (is_quantised())
            product_.simd.quantise(reinterpret_cast<const float*>(at(activations)),
                                   quantised_at(at(quantised), n), n);
    }

    void make_calls() {
        inputs_[0] = {x_, at(activations)};
        inputs_[1] = {weight_, static_cast<CpuBuffer&>(*weights_).begin(0)};
        for (int worker = 0; worker < runner_.workers(); ++worker)
            outputs_.push_back({floats(x_.shape[0], kRows), at(first_own + 2 * worker)});
        for (const ir::Operand& output : outputs_) {
            KernelCall& call = calls_.emplace_back();
            call.op = &op_;
            call.simd = &product_.simd;
            call.operands.inputs = inputs_;
            call.operands.outputs = {&output, 1};
            if (is_quantised()) call.quantised = quantised_at(at(quantised), x_.shape.elements());
        }
    }

    void run(int worker) const {
        const KernelCall& call = calls_[static_cast<size_t>(worker)];
        const int64_t items = product_.kernel.items(call);
        for (int64_t i = 0; i < items; ++i) product_.kernel.run(call, i, workspace(worker));
    }

    const ProductUnderTest& product_;
    Runner& runner_;
    const ir::Op op_ = ir::Matmul{};
    const ir::TensorDesc weight_;
    const ir::TensorDesc x_;
    std::unique_ptr<device::Buffer> weights_, memory_;
    ir::Operand inputs_[2];
    std::vector<ir::Operand> outputs_;
    std::vector<KernelCall> calls_;
};

}  // namespace

device::ProductSpeed measure_product(const ProductUnderTest& product, Runner& runner,
                                     device::Stream& stream) {
    const simd::SequenceFn bytes = by_format(product.simd.sequence_q8, product.weight.type);
    const bool is_quantised = product.kernel.activation == ActivationFormat::q8;
    const simd::SequenceFn sequence = is_quantised && bytes != nullptr ? bytes : product.simd.sequence_f32;
    return {.instructions_one = sequence_rate(sequence, runner, 1),
            .instructions = sequence_rate(sequence, runner, runner.workers()),
            .kernel = Tile(product, runner, stream).rate()};
}

}  // namespace plait::backends::cpu
