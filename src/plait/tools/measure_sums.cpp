#include "plait/tools/measure_sums.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "plait/base/barrier.h"
#include "plait/base/ensure.h"
#include "plait/base/worker_pool.h"
#include "plait/collectives/local/group.h"
#include "plait/engine/devices.h"

namespace plait::tools {
namespace {

using ir::DType;
using ir::TensorDesc;

constexpr int64_t kWidth = 2048;
constexpr int64_t kFewRows = 2, kManyRows = 512;
constexpr int kPasses = 20;

template <class Work>
double best_seconds(const Work& work) {
    double best = 1e9;
    for (int pass = 0; pass < kPasses; ++pass) {
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        best = std::min(best, seconds.count());
    }
    return best;
}

double barrier_seconds(Cores& cores, int threads) {
    constexpr int kRounds = 1000;
    struct Meeters {
        Barrier barrier;
        std::atomic<uint32_t> stop{0};
    } meeters{{threads, cores}, {}};
    WorkerPool pool(cores, threads);
    const double seconds = best_seconds([&] {
        pool.start(
            [](void* context, int) {
                auto& all = *static_cast<Meeters*>(context);
                for (int round = 0; round < kRounds; ++round) (void)all.barrier.wait(all.stop);
            },
            &meeters);
        pool.finish();
    });
    return seconds / kRounds;
}

// A program of so many sums, one of the other, and the memory it runs on, on one member.
class Chain {
  public:
    Chain(device::Device& device, int64_t rows, int sums) {
        ir::Graph graph({rows, 1, 1}, {});
        const TensorDesc table{DType::F32, {1, kWidth}};
        const auto weight = graph.weight(0, {"table", table});
        ir::ValueId value =
            graph.add(ir::Embed{}, "embed", {weight, graph.step_input(ir::StepInput::tokens)})[0];
        for (int i = 0; i < sums; ++i) value = graph.add(ir::AllReduce{}, "sum", {value})[0];
        graph.set_outputs({value});
        const std::vector<int> layouts{device.describe().find_layout(device::kRowLayout)};
        program_ = device.compile(graph, layouts);
        stream_ = device.make_stream();
        weights_ = alloc(device, table);
        inputs_ = alloc(device, {DType::I32, {program_->needs().input_values}});
        outputs_ = alloc(device, program_->needs().outputs[0].desc);
        scratch_ = alloc(device, {DType::F32, {program_->needs().scratch_bytes / 4 + 1}});
        const device::Region regions[] = {device::whole(*weights_, 0)};
        bound_ = program_->bind({.weights = regions,
                                 .inputs = inputs_.get(),
                                 .outputs = outputs_.get(),
                                 .scratch = scratch_.get()});
        write_step(rows, graph.capacity());
    }

    void start(StopWord& stop) { stream_->run(*bound_, 0, stop); }
    void finish() { stream_->synchronise(); }

  private:
    static std::unique_ptr<device::Buffer> alloc(device::Device& device, const TensorDesc& desc) {
        return device.row_buffer_type().alloc({&desc, 1}, device::Usage::compute);
    }

    // All rows are the table's only one, which is zero.
    void write_step(int64_t rows, const ir::Capacity& capacity) {
        std::vector<int32_t> block(static_cast<size_t>(program_->needs().input_values));
        const ir::StepView view = ir::StepLayout(capacity, {}).view(block.data());
        *view.token_count = static_cast<int32_t>(rows);
        stream_->write(device::whole(*inputs_, 0), std::as_bytes(std::span(block)));
        bound_->prepare(view);
    }

    std::unique_ptr<device::Program> program_;
    std::unique_ptr<device::Stream> stream_;
    std::unique_ptr<device::Buffer> weights_, inputs_, outputs_, scratch_;
    std::unique_ptr<device::BoundProgram> bound_;
};

class Members {
  public:
    Members(Cores& cores, int count) : group_(count) {
        engine::EngineOptions options;
        options.devices = "cpu";
        options.threads = 1;
        for (int m = 0; m < count; ++m) {
            devices_.push_back(engine::make_device(options, cores));
            ENSURE(devices_.back()->can_embed(group_.kind()), "cores of one process can meet");
            devices_.back()->join(group_, m);
        }
    }

    int threads() {
        group_.open();
        return group_.threads();
    }

    // Of one sum.
    double seconds(int64_t rows, int sums) {
        return (run_seconds(rows, 2 * sums) - run_seconds(rows, sums)) / sums;
    }

  private:
    double run_seconds(int64_t rows, int sums) {
        std::vector<std::unique_ptr<Chain>> chains;
        for (const auto& device : devices_) chains.push_back(std::make_unique<Chain>(*device, rows, sums));
        StopWord stop;
        const double seconds = best_seconds([&] {
            for (const auto& chain : chains) chain->start(stop);
            for (const auto& chain : chains) chain->finish();
        });
        ENSURE(!stop.stopped(), stop.message());
        return seconds;
    }

    collectives::local::LocalGroup group_;
    std::vector<std::unique_ptr<device::Device>> devices_;
};

}  // namespace

SumSpeeds measure_sums(Cores& cores, int members) {
    SumSpeeds speeds{.members = members};
    int threads = 0;
    {
        Members meeting(cores, members);
        threads = meeting.threads();
        speeds.few_rows = meeting.seconds(kFewRows, 64);
        speeds.many_rows = meeting.seconds(kManyRows, 8);
    }
    speeds.barrier = barrier_seconds(cores, threads);
    const auto bytes = static_cast<double>(2 * members * kManyRows * kWidth * int64_t{sizeof(float)});
    speeds.rate = bytes / speeds.many_rows;
    return speeds;
}

}  // namespace plait::tools
