#include <gtest/gtest.h>

#include <algorithm>

#include "plait/base/cancel.h"
#include "plait/device/contract_kit.h"
#include "plait/device/contract_suite.h"

// The contract of host actions: what the host is shown, and what it fills in.
namespace plait::device::contract {
namespace {

using ir::DType;
using ir::TensorDesc;
using ir::ValueId;

constexpr int64_t kWidth = 64;

// A graph on the tokens of a step, with what it reads and what the host has for it.
class HostGraph {
  public:
    HostGraph(Device& device, DType weight_type)
        : row_layout_(device.describe().find_layout(kRowLayout)),
          weight_type_(weight_type),
          step_(small_step()),
          graph_(step_.layout().capacity(),
                 {step_.layout().groups().begin(), step_.layout().groups().end()}) {
        material_.block.assign(step_.block().begin(), step_.block().end());
    }

    ValueId tokens() {
        return add(ir::Embed{}, {weight(DType::F32, 32), graph_.step_input(ir::StepInput::tokens)});
    }
    ValueId product(ValueId x) { return add(ir::Matmul{}, {x, weight(weight_type_, kWidth)}); }
    ValueId sum(ValueId a, ValueId b) { return add(ir::Add{}, {a, b}); }
    ValueId wanted(ValueId x) {
        return add(ir::GatherRows{}, {x, graph_.step_input(ir::StepInput::output_rows)});
    }
    ValueId tap(ValueId x) { return add(ir::Tap{}, {x}); }

    // The host has random values, and poison where the step has no rows: it may write whole regions.
    std::vector<ValueId> exchange(std::vector<ValueId> shown, const std::vector<TensorDesc>& received) {
        for (const TensorDesc& desc : received) {
            TestTensor tensor = ir::test::make_tensor(desc, ++seed_);
            const int64_t used = ir::test::actual_rows(tensor, step_) * desc.slice_bytes();
            std::fill(tensor.bytes.begin() + used, tensor.bytes.end(), ir::test::kPoison);
            material_.received.push_back(std::move(tensor));
        }
        return graph_.add(ir::Exchange{.received = received}, name(), std::move(shown));
    }

    ir::Graph& graph() { return graph_; }
    const Material& material() const { return material_; }
    const ir::test::TestStep& step() const { return step_; }

  private:
    std::string name() const { return "node " + std::to_string(graph_.nodes().size()); }
    ValueId add(const ir::Op& op, std::vector<ValueId> inputs) {
        return graph_.add(op, name(), std::move(inputs))[0];
    }
    ValueId weight(DType type, int64_t rows) {
        const TensorDesc desc{type, {rows, kWidth}};
        const auto index = static_cast<int32_t>(material_.weights.size());
        material_.weights.push_back(ir::test::make_tensor(desc, ++seed_));
        material_.layouts.push_back(row_layout_);
        return graph_.weight(index, {"weight", desc});
    }

    const int row_layout_;
    const DType weight_type_;
    const ir::test::TestStep step_;
    ir::Graph graph_;
    Material material_;
    uint64_t seed_ = 300;
};

TensorDesc token_rows() { return {DType::F32, {8, kWidth}, ir::Rows::tokens}; }
TensorDesc output_rows() { return {DType::F32, {3, kWidth}, ir::Rows::outputs}; }
TensorDesc one_row() { return {DType::F32, {kWidth}}; }

// Rows past the count hold anything: only the others are compared.
void expect_shown(Stream& stream, TestTensor expected, const Region& region, const ir::test::TestStep& step,
                  double bound) {
    TestTensor shown{expected.desc, read_now(stream, region)};
    ASSERT_EQ(shown.bytes.size(), expected.bytes.size());
    const int64_t used = ir::test::actual_rows(shown, step) * shown.desc.slice_bytes();
    for (TestTensor* tensor : {&shown, &expected})
        std::fill(tensor->bytes.begin() + used, tensor->bytes.end(), ir::test::kPoison);
    EXPECT_LE(output_error({&expected, 1}, {&shown, 1}, step.view()), bound);
}

// Runs a step with the host's part done between segments, and judges all that can be seen of it.
void expect_right_step(Stream& stream, Program& program, Slot& slot, HostGraph& graph, double bound) {
    const Expected expected = run_by_reference(graph.graph(), graph.material());
    StopWord stop;
    slot.write_step(stream, graph.material().block);
    slot.bound().prepare(graph.step().view());
    size_t shown = 0, received = 0;
    for (int segment = 0; segment < program.segments(); ++segment) {
        slot.run_segment(stream, segment, stop);
        const ir::Node* action = program.host_action(segment);
        ASSERT_EQ(action == nullptr, segment + 1 == program.segments());
        if (action == nullptr) break;
        for (size_t i = 0; i < action->inputs.size(); ++i) {
            const Region region = slot.bound().shown(segment, static_cast<int>(i));
            expect_shown(stream, expected.shown[shown++], region, graph.step(), bound);
        }
        for (size_t i = 0; !ir::op_is_view(action->op) && i < action->outputs.size(); ++i) {
            stream.write(slot.bound().received(segment, static_cast<int>(i)),
                         graph.material().received[received++].bytes);
        }
    }
    EXPECT_EQ(shown, expected.shown.size());
    EXPECT_EQ(received, graph.material().received.size());
    std::vector<TestTensor> outputs;
    slot.read_outputs(stream, outputs);
    stream.synchronise();
    EXPECT_EQ(stop.message(), "");
    EXPECT_LE(output_error(expected.outputs, outputs, graph.step().view()), bound);
}

// With weights that are multiplied as they are, and with such as want their activations quantised; twice, for
// then every region holds something from before.
template <class Build>
void expect_right(Device& device, Stream& stream, Build build) {
    for (const auto& [type, bound] : {std::pair{DType::F32, 1e-9}, {DType::Q8_0, 1e-4}}) {
        HostGraph graph(device, type);
        build(graph);
        const auto program = device.compile(graph.graph(), graph.material().layouts);
        const Resident resident(device, stream, graph.material());
        Slot slot(device, *program, resident);
        for (int round = 0; round < 2; ++round) expect_right_step(stream, *program, slot, graph, bound);
    }
}

TEST_P(DeviceContract, HostActionsShowValuesAndTakeOthers) {
    expect_right(device(), stream(), [](HostGraph& g) {
        const ValueId x = g.tokens(), y = g.product(x);
        const auto received = g.exchange({y}, {token_rows()});
        g.graph().set_outputs({g.product(received[0])});
    });
}

TEST_P(DeviceContract, HostActionsLeaveWhatTheyShowAsItWas) {
    expect_right(device(), stream(), [](HostGraph& g) {
        const ValueId x = g.tokens(), y = g.product(x), z = g.product(y);
        const auto received = g.exchange({x, z, x}, {token_rows(), token_rows()});
        const ValueId all = g.sum(g.sum(received[0], received[1]), g.sum(x, g.sum(y, z)));
        g.graph().set_outputs({all, g.product(all)});
    });
}

TEST_P(DeviceContract, HostActionsMayShowNothing) {
    expect_right(device(), stream(), [](HostGraph& g) {
        const auto first = g.exchange({}, {token_rows()});
        const ValueId x = g.sum(first[0], g.tokens()), y = g.product(x);
        const auto second = g.exchange({}, {token_rows(), one_row()});
        g.graph().set_outputs({g.sum(g.sum(g.product(second[0]), second[1]), g.sum(x, y))});
    });
}

TEST_P(DeviceContract, HostActionsMayTakeNothing) {
    expect_right(device(), stream(), [](HostGraph& g) {
        const ValueId x = g.tokens(), y = g.product(x);
        EXPECT_TRUE(g.exchange({y}, {}).empty());
        const ValueId z = g.product(g.sum(x, y));
        EXPECT_TRUE(g.exchange({z, y}, {}).empty());
        g.graph().set_outputs({z});
    });
}

TEST_P(DeviceContract, HostActionsMayFollowEachOther) {
    expect_right(device(), stream(), [](HostGraph& g) {
        const ValueId x = g.tokens();
        const auto first = g.exchange({x}, {token_rows(), token_rows()});
        const auto second = g.exchange({first[1], x}, {token_rows()});
        EXPECT_TRUE(g.exchange({}, {}).empty());
        const ValueId tapped = g.tap(second[0]);
        g.graph().set_outputs({g.sum(g.product(tapped), g.sum(first[0], x))});
    });
}

TEST_P(DeviceContract, HostActionsTakeRowsOfEveryKind) {
    expect_right(device(), stream(), [](HostGraph& g) {
        const ValueId x = g.tokens();
        const auto received = g.exchange({g.wanted(x)}, {output_rows(), one_row(), token_rows()});
        const ValueId y = g.sum(g.product(received[2]), received[1]);
        g.graph().set_outputs({g.sum(g.wanted(y), received[0])});
    });
}

TEST_P(DeviceContract, HostActionsMayShowAndFillOutputsOfTheProgram) {
    expect_right(device(), stream(), [](HostGraph& g) {
        const ValueId x = g.tokens(), y = g.product(x);
        const auto received = g.exchange({y}, {token_rows(), output_rows()});
        g.graph().set_outputs({y, received[0], g.sum(x, g.product(received[0])), received[1]});
    });
}

// Longer than any slot of scratch stays free: what is received first is needed last.
TEST_P(DeviceContract, HostActionsKeepWhatIsReceivedUntilItsLastReader) {
    expect_right(device(), stream(), [](HostGraph& g) {
        ValueId x = g.tokens();
        std::vector<ValueId> kept;
        for (int i = 0; i < 5; ++i) {
            const auto received = g.exchange({x}, {token_rows(), token_rows()});
            kept.push_back(received[1]);
            x = g.product(g.product(received[0]));
        }
        for (ValueId value : kept) x = g.sum(x, value);
        g.graph().set_outputs({x});
    });
}

}  // namespace
}  // namespace plait::device::contract
