#include <gmock/gmock.h>

#include <chrono>

#include "plait/base/cancel.h"
#include "plait/device/contract_kit.h"
#include "plait/device/contract_suite.h"

// The contract of programs: compiling, binding, running, stopping.
namespace plait::device::contract {
namespace {

using ir::DType;
using testing::HasSubstr;

// Of a chain of F32 ops, in whatever order they add.
constexpr double kBound = 1e-9;

// The small model on the device, with one slot.
struct Running {
    Running(Device& device, Stream& stream, const ir::test::StepSpec& spec, int64_t surplus_rows = 0)
        : model(small_model(device, spec)),
          program(device.compile(model.graph, model.material.layouts)),
          resident(device, stream, model.material),
          slot(device, *program, resident, surplus_rows),
          expected(run_by_reference(model.graph, model.material)) {
        slot.write_step(stream, model.material.block);
        slot.bound().prepare(step());
    }

    ir::StepView step() { return view_of(model.graph, model.material.block); }

    std::vector<TestTensor> outputs_now(Stream& stream) {
        std::vector<TestTensor> outputs;
        slot.read_outputs(stream, outputs);
        stream.synchronise();
        return outputs;
    }
    void expect_right(Stream& stream) {
        EXPECT_LE(output_error(expected.outputs, outputs_now(stream), step()), kBound);
        EXPECT_LE(state_error(expected.state, resident.read_state(stream)), kBound);
    }
    void expect_untouched_outputs(Stream& stream) {
        for (const TestTensor& output : outputs_now(stream))
            EXPECT_EQ(output.bytes, ir::test::make_poisoned(output.desc).bytes);
    }

    SmallModel model;
    std::unique_ptr<Program> program;
    Resident resident;
    Slot slot;
    Expected expected;
    StopWord stop;
};

TEST_P(DeviceContract, CompilingTakesNothingAndStatesItsNeeds) {
    const SmallModel model = small_model(device(), small_step());
    const int64_t free_before = device().describe().memory_bytes;
    const auto program = device().compile(model.graph, model.material.layouts);
    EXPECT_EQ(device().describe().memory_bytes, free_before);
    const ProgramNeeds& needs = program->needs();
    EXPECT_EQ(needs.input_values, ir::StepLayout(model.graph.capacity(), model.graph.groups()).values());
    EXPECT_GT(needs.scratch_bytes, 0);
    ASSERT_EQ(needs.outputs.size(), 2u);
    for (size_t i = 0; i < 2; ++i)
        EXPECT_EQ(needs.outputs[i].desc, model.graph.value(model.graph.outputs()[i]).desc);
}

TEST_P(DeviceContract, HostActionsCutPrograms) {
    const SmallModel model = small_model(device(), small_step());
    const auto program = device().compile(model.graph, model.material.layouts);
    ASSERT_EQ(program->segments(), 2);
    ASSERT_NE(program->host_action(0), nullptr);
    EXPECT_EQ(program->host_action(0)->name, "tap");
    EXPECT_EQ(program->host_action(1), nullptr);
}

TEST_P(DeviceContract, RefusesAnOpItCannotRunByName) {
    ir::Graph graph({8, 1, 1}, {});
    const ir::ValueId table = graph.weight(0, {"table", {DType::F32, {4, 32}}});
    const ir::ValueId ids = graph.weight(1, {"ids", {DType::I32, {8}}});
    graph.set_outputs(graph.add(ir::Embed{}, "the lookup", {table, ids}));
    const std::vector<int> layouts(2, device().describe().find_layout(kRowLayout));
    const std::string sentence = error_of([&] { (void)device().compile(graph, layouts); });
    EXPECT_THAT(sentence, HasSubstr(device().describe().name));
    EXPECT_THAT(sentence, HasSubstr("the lookup"));
    EXPECT_THAT(sentence, HasSubstr("I32"));
}

TEST_P(DeviceContract, RefusesALayoutAnOpCannotRead) {
    const DeviceDescription& self = device().describe();
    for (size_t i = 0; i < self.buffer_types.size(); ++i) {
        SmallModel model = small_model(device(), small_step());
        const int layout = static_cast<int>(i);
        const auto norm = device::describe_op(model.graph, model.graph.nodes()[1],
                                              [&](int32_t) { return self.buffer_types[i].layout_id; });
        if (device().supports(norm)) continue;
        model.material.layouts[1] = layout;
        const std::string sentence =
            error_of([&] { (void)device().compile(model.graph, model.material.layouts); });
        EXPECT_THAT(sentence, HasSubstr("norm"));
        EXPECT_THAT(sentence, HasSubstr(self.buffer_types[i].layout_id));
    }
}

TEST_P(DeviceContract, RunsAProgramAsTheReferenceDoes) {
    Running running(device(), stream(), small_step());
    running.slot.run(stream(), running.stop);
    running.expect_right(stream());
    EXPECT_EQ(running.stop.message(), "");
}

TEST_P(DeviceContract, RunsStepsOfAllSizes) {
    using Sequences = std::vector<ir::test::TestSequence>;
    for (const Sequences& sequences :
         {Sequences{}, {{0, 1}}, {{15, 1}}, {{0, 8}}, {{0, 4}, {3, 1}, {11, 3}}}) {
        ir::test::StepSpec spec = small_step();
        spec.sequences = sequences;
        Running running(device(), stream(), spec);
        running.slot.run(stream(), running.stop);
        running.expect_right(stream());
    }
}

TEST_P(DeviceContract, CopiesPagesFirst) {
    ir::test::StepSpec spec = small_step();
    spec.copies = {{0, 11}, {11, 3}};
    Running running(device(), stream(), spec);
    running.slot.run(stream(), running.stop);
    running.expect_right(stream());
}

TEST_P(DeviceContract, SlotsMayBeLargerThanNeeded) {
    Running running(device(), stream(), small_step(), 5);
    running.slot.run(stream(), running.stop);
    running.expect_right(stream());
}

TEST_P(DeviceContract, ShowsTheValueOfAHostAction) {
    Running running(device(), stream(), small_step());
    running.slot.run_segment(stream(), 0, running.stop);
    TestTensor shown = running.expected.shown[0];
    shown.bytes = read_now(stream(), running.slot.bound().shown(0, 0));
    // Rows past the count hold anything: only the others are compared.
    const auto used = static_cast<size_t>(*running.step().token_count * shown.desc.slice_bytes());
    std::fill(shown.bytes.begin() + static_cast<int64_t>(used), shown.bytes.end(), ir::test::kPoison);
    EXPECT_LE(output_error({&running.expected.shown[0], 1}, {&shown, 1}, running.step()), kBound);
    running.slot.run_segment(stream(), 1, running.stop);
    running.expect_right(stream());
}

TEST_P(DeviceContract, RunsTheSameEveryTime) {
    Running running(device(), stream(), small_step());
    std::vector<TestTensor> first;
    for (int round = 0; round < 20; ++round) {
        running.slot.run(stream(), running.stop);
        const std::vector<TestTensor> outputs = running.outputs_now(stream());
        if (first.empty()) first = outputs;
        for (size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i].bytes, first[i].bytes);
    }
}

TEST_P(DeviceContract, AStoppedRunDoesNothing) {
    Running running(device(), stream(), small_step());
    running.stop.cancel();
    running.slot.run(stream(), running.stop);
    running.expect_untouched_outputs(stream());
    EXPECT_EQ(state_error(running.model.material.state, running.resident.read_state(stream())), 0.0);
    EXPECT_EQ(running.stop.state(), StopWord::kCancelled);
    running.stop.reset();
    running.slot.run(stream(), running.stop);
    running.expect_right(stream());
}

TEST_P(DeviceContract, AStopBetweenSegmentsIsSeen) {
    Running running(device(), stream(), small_step());
    running.slot.run_segment(stream(), 0, running.stop);
    stream().synchronise();
    running.stop.fail("the host has seen enough");
    running.slot.run_segment(stream(), 1, running.stop);
    running.expect_untouched_outputs(stream());
    EXPECT_LE(state_error(running.expected.state, running.resident.read_state(stream())), kBound);
    EXPECT_EQ(running.stop.message(), "the host has seen enough");
}

// Whenever it comes, the run ends, and the next one is right.
TEST_P(DeviceContract, AStopDuringARunEndsIt) {
    for (int round = 0; round < 10; ++round) {
        Running running(device(), stream(), small_step());
        running.slot.run(stream(), running.stop);
        running.stop.cancel();
        stream().synchronise();
        running.stop.reset();
        running.slot.run(stream(), running.stop);
        running.expect_right(stream());
    }
}

TEST_P(DeviceContract, SlotsDoNotDisturbEachOther) {
    ir::test::StepSpec other_step = small_step();
    other_step.sequences = {{2, 1}, {9, 3}, {0, 4}};
    other_step.page_seed = 7;
    SmallModel models[] = {small_model(device(), small_step()), small_model(device(), other_step)};
    const auto program = device().compile(models[0].graph, models[0].material.layouts);
    const Resident residents[] = {Resident(device(), stream(), models[0].material),
                                  Resident(device(), stream(), models[1].material)};
    Slot slots[] = {Slot(device(), *program, residents[0]), Slot(device(), *program, residents[1])};
    StopWord stop;
    for (int i : {0, 1}) slots[i].write_step(stream(), models[i].material.block);
    for (int segment : {0, 1}) {
        for (int i : {0, 1}) slots[i].run_segment(stream(), segment, stop);
    }
    for (int i : {0, 1}) {
        const Expected expected = run_by_reference(models[i].graph, models[i].material);
        std::vector<TestTensor> outputs;
        slots[i].read_outputs(stream(), outputs);
        stream().synchronise();
        const ir::StepView step = view_of(models[i].graph, models[i].material.block);
        EXPECT_LE(output_error(expected.outputs, outputs, step), kBound) << "slot " << i;
        EXPECT_LE(state_error(expected.state, residents[i].read_state(stream())), kBound) << "slot " << i;
    }
}

// A text that grows by a token per step, without waiting for anything in between.
TEST_P(DeviceContract, ManyStepsMayBeQueued) {
    constexpr int kSteps = 14;
    SmallModel model = small_model(device(), small_step());
    const auto program = device().compile(model.graph, model.material.layouts);
    const Resident resident(device(), stream(), model.material);
    Slot slot(device(), *program, resident);
    StopWord stop;
    std::vector<std::vector<int32_t>> blocks;
    std::vector<std::vector<TestTensor>> outputs(kSteps);
    for (int i = 0; i < kSteps; ++i) {
        ir::test::StepSpec spec = small_step();
        spec.sequences = {{i, 1}, {2, i % 3}};
        const ir::test::TestStep step(spec);
        blocks.emplace_back(step.block().begin(), step.block().end());
        slot.write_step(stream(), blocks.back());
        slot.run(stream(), stop);
        slot.read_outputs(stream(), outputs[static_cast<size_t>(i)]);
    }
    stream().synchronise();
    for (size_t i = 0; i < kSteps; ++i) {
        model.material.block = blocks[i];
        Expected expected = run_by_reference(model.graph, model.material);
        EXPECT_LE(output_error(expected.outputs, outputs[i], view_of(model.graph, blocks[i])), kBound)
            << "step " << i;
        model.material.state = std::move(expected.state);
    }
}

// A later record moves an event's mark, but not what a former wait waits for.
TEST_P(DeviceContract, AWaitKeepsToTheMarkItFound) {
    Running running(device(), stream(), small_step());
    const auto event = device().make_event();
    stream().record(*event);
    stream().wait(*event);
    running.slot.run(stream(), running.stop);
    stream().record(*event);
    stream().synchronise();
    EXPECT_TRUE(event->done());
    running.expect_right(stream());
}

TEST_P(DeviceContract, RunsAreTimedWhileThatIsWanted) {
    constexpr int kRuns = 3;
    Running running(device(), stream(), small_step());
    const auto run = [&](int times) {
        for (int i = 0; i < times; ++i) running.slot.run(stream(), running.stop);
        stream().synchronise();
        return device().run_times();
    };
    const std::vector<RunTimes> untimed = run(1);
    if (untimed.empty()) GTEST_SKIP() << "the device cannot tell";
    ASSERT_EQ(untimed.size(), 1u);
    EXPECT_EQ(untimed[0].all(), 0);
    EXPECT_EQ(untimed[0].runs, 0);
    for (int again = 0; again < 2; ++again) {
        device().time_runs(true);
        const auto begin = std::chrono::steady_clock::now();
        const RunTimes timed = run(kRuns)[0];
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
        EXPECT_EQ(timed.runs, kRuns * running.slot.bound().program().segments());
        EXPECT_GT(timed.compute, 0);
        EXPECT_EQ(timed.reduce, 0);
        EXPECT_GE(timed.wait, 0);
        EXPECT_LE(timed.all(), elapsed.count());
        device().time_runs(false);
        EXPECT_EQ(run(1)[0].all(), timed.all());
    }
    running.expect_right(stream());
}

TEST_P(DeviceContract, TwoStreamsRunOneAfterTheOther) {
    Running running(device(), stream(), small_step());
    const auto other = device().make_stream();
    const auto event = device().make_event();
    running.slot.run_segment(stream(), 0, running.stop);
    stream().record(*event);
    other->wait(*event);
    running.slot.run_segment(*other, 1, running.stop);
    running.expect_right(*other);
}

}  // namespace
}  // namespace plait::device::contract
