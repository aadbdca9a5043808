#include "plait/backends/cpu/runner.h"

#include <gtest/gtest.h>

#include <atomic>

#include "plait/backends/cpu/cpu_device.h"
#include "plait/backends/cpu/stream.h"
#include "plait/base/error.h"

namespace plait::backends::cpu {
namespace {

using ir::DType;
using ir::TensorDesc;

std::atomic<bool> activation_fails{false};

void run_activate(const KernelCall& call, int64_t item, std::byte*) {
    if (activation_fails) throw Error(item == 2 ? "no luck" : "no luck either");
    std::copy_n(call.in(0).as<float>() + item * 4, 4, call.out().as<float>() + item * 4);
}

// embed -> first -> tap -> second, with an activation that fails on demand.
class Chain {
  public:
    explicit Chain(int workers)
        : type_("cpu", {.cores = cores_},
                {.layout_id = device::kRowLayout, .host_readable = true, .alignment = kAlignment},
                [](const TensorDesc& desc) { return desc.bytes(); }),
          kernels_(kernel_list({.simd = &simd::kernels(simd::SimdLevel::scalar), .exact = true})),
          group_(collectives::local::group_of_one(cores_, {.workers = workers, .pins = {}})),
          runner_(*group_, 0, "cpu"),
          stream_(runner_, "cpu") {
        for (Kernel& kernel : kernels_) {
            if (kernel.support.op == ir::op_id_of<ir::Activate>()) kernel.run = run_activate;
        }
        device_.name = "cpu";
        device_.workers = workers;
        device_.buffer_types = {type_.describe()};
        for (const Kernel& kernel : kernels_) device_.rows.push_back(kernel.support);
        build();
    }

    std::string run(StopWord& stop) {
        for (int segment = 0; segment < program_->segments(); ++segment) stream_.run(*bound_, segment, stop);
        stream_.synchronise();
        return stop.message();
    }

    float result(int64_t i) const { return floats(*outputs_)[i]; }

  private:
    static float* floats(device::Buffer& buffer) {
        return reinterpret_cast<float*>(static_cast<CpuBuffer&>(buffer).begin(0));
    }

    std::unique_ptr<device::Buffer> alloc(const TensorDesc& desc) {
        return type_.alloc({&desc, 1}, device::Usage::compute);
    }

    void build() {
        ir::Graph graph({8, 1, 1}, {});
        const TensorDesc table_desc{DType::F32, {8, 4}};
        const auto table = graph.weight(0, {"table", table_desc});
        ir::ValueId value =
            graph.add(ir::Embed{}, "embed", {table, graph.step_input(ir::StepInput::tokens)})[0];
        value = graph.add(ir::Activate{}, "first", {value})[0];
        value = graph.add(ir::Tap{}, "tap", {value})[0];
        graph.set_outputs(graph.add(ir::Activate{}, "second", {value}));
        program_ = std::make_unique<CpuProgram>(graph, device_, kernels_,
                                                simd::kernels(simd::SimdLevel::scalar), layouts_);
        weights_ = alloc(table_desc);
        inputs_ = alloc({DType::I32, {program_->needs().input_values}});
        outputs_ = alloc(program_->needs().outputs[0].desc);
        scratch_ = alloc({DType::F32, {program_->needs().scratch_bytes / 4 + 1}});
        const device::Region weights[] = {device::whole(*weights_, 0)};
        bound_ = program_->bind({.weights = weights,
                                 .inputs = inputs_.get(),
                                 .outputs = outputs_.get(),
                                 .scratch = scratch_.get()});
        for (int i = 0; i < 32; ++i) floats(*weights_)[i] = static_cast<float>(i + 1);
        ir::StepView step = ir::StepLayout(graph.capacity(), {})
                                .view(reinterpret_cast<int32_t*>(static_cast<CpuBuffer&>(*inputs_).begin(0)));
        *step.token_count = 8;
        for (int32_t t = 0; t < 8; ++t) step.tokens[static_cast<size_t>(t)] = 7 - t;
    }

    Cores cores_;
    CpuBufferType type_;
    std::vector<Kernel> kernels_;
    device::DeviceDescription device_;
    const std::vector<int> layouts_{0};
    std::unique_ptr<collectives::local::LocalGroup> group_;
    Runner runner_;
    CpuStream stream_;
    std::unique_ptr<CpuProgram> program_;
    std::unique_ptr<device::Buffer> weights_, inputs_, outputs_, scratch_;
    std::unique_ptr<device::BoundProgram> bound_;
};

class RunnerTest : public testing::TestWithParam<int> {
  protected:
    ~RunnerTest() override { activation_fails = false; }
};

TEST_P(RunnerTest, AKernelThatFailsStopsTheRunByName) {
    Chain chain(GetParam());
    StopWord stop;
    activation_fails = true;
    EXPECT_EQ(chain.run(stop).substr(0, 19), "cpu: first: no luck");
    EXPECT_EQ(stop.state(), StopWord::kFailed);
    for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(chain.result(i), 0.0f) << "the second segment did not run";
}

TEST_P(RunnerTest, TheRunAfterAFailureIsRight) {
    Chain chain(GetParam());
    StopWord stop;
    for (int round = 0; round < 20; ++round) {
        activation_fails = true;
        EXPECT_NE(chain.run(stop), "");
        stop.reset();
        activation_fails = false;
        EXPECT_EQ(chain.run(stop), "");
        for (int64_t i = 0; i < 32; ++i)
            EXPECT_EQ(chain.result(i), static_cast<float>((7 - i / 4) * 4 + i % 4 + 1));
    }
}

INSTANTIATE_TEST_SUITE_P(Workers, RunnerTest, testing::Values(1, 2, 5));

}  // namespace
}  // namespace plait::backends::cpu
