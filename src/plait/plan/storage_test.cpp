#include "plait/plan/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace plait::plan {
namespace {

using ir::DType;
using ir::ValueId;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// --- value_storages

struct Attending {
    ir::Graph graph{{4, 1, 1}, {{16, 2}}};
    ValueId x, heads, merged, tapped, received, keys, written;

    Attending() {
        const ValueId table = graph.weight(0, {"table", {DType::F32, {8, 32}}});
        x = graph.add(ir::Embed{}, "x", {table, graph.step_input(ir::StepInput::tokens)})[0];
        heads = graph.add(ir::SplitHeads{2}, "heads", {x})[0];
        keys = graph.state(0, "keys", {DType::F16, {3, 2, 16, 16}});
        const ValueId copied = graph.add(ir::CopyPages{}, "copied", {keys})[0];
        written = graph.add(ir::KvWrite{}, "written", {heads, copied})[0];
        merged = graph.add(ir::MergeHeads{}, "merged", {heads})[0];
        tapped = graph.add(ir::Tap{}, "tapped", {merged})[0];
        const ir::Exchange exchange{.received = {graph.value(tapped).desc}};
        received = graph.add(exchange, "received", {tapped})[0];
    }
};

TEST(ValueStorages, ViewsShareTheirInputs) {
    const Attending a;
    const ValueStorages storages = value_storages(a.graph);
    const auto of = [&](ValueId id) { return storages.of_value[static_cast<size_t>(id)]; };
    EXPECT_EQ(of(a.heads), of(a.x));
    EXPECT_EQ(of(a.merged), of(a.x));
    EXPECT_EQ(of(a.tapped), of(a.x));
    EXPECT_EQ(storages.root[static_cast<size_t>(of(a.tapped))], a.x);
}

TEST(ValueStorages, VersionsOfStateShareIt) {
    const Attending a;
    const ValueStorages storages = value_storages(a.graph);
    const auto of = [&](ValueId id) { return storages.of_value[static_cast<size_t>(id)]; };
    EXPECT_EQ(of(a.written), of(a.keys));
    EXPECT_NE(of(a.written), of(a.x));
}

TEST(ValueStorages, WhatTheHostFillsHasStorageOfItsOwn) {
    const Attending a;
    const ValueStorages storages = value_storages(a.graph);
    const auto of = [&](ValueId id) { return storages.of_value[static_cast<size_t>(id)]; };
    EXPECT_NE(of(a.received), of(a.x));
    EXPECT_EQ(storages.root[static_cast<size_t>(of(a.received))], a.received);
}

TEST(ValueStorages, EveryStorageHasOneRoot) {
    const Attending a;
    const ValueStorages storages = value_storages(a.graph);
    EXPECT_EQ(storages.root.size(), 5u) << "table, tokens, x, keys, received";
    for (size_t s = 0; s < storages.root.size(); ++s)
        EXPECT_EQ(storages.of_value[static_cast<size_t>(storages.root[s])], static_cast<int32_t>(s));
}

// --- intervals

TEST(Intervals, OfNothing) { EXPECT_THAT(intervals({}), IsEmpty()); }

TEST(Intervals, IndependentStepsShareOne) {
    const std::vector<WorkStep> steps{{{0}, {1}}, {{0}, {2}}, {{}, {3}}};
    EXPECT_THAT(intervals(steps), ElementsAre(0, 0, 0));
}

TEST(Intervals, EveryHazardBeginsANewOne) {
    const std::vector<WorkStep> read_after_write{{{}, {1}}, {{1}, {2}}};
    const std::vector<WorkStep> write_after_write{{{}, {1}}, {{}, {1}}};
    const std::vector<WorkStep> write_after_read{{{1}, {2}}, {{}, {1}}};
    EXPECT_THAT(intervals(read_after_write), ElementsAre(0, 1));
    EXPECT_THAT(intervals(write_after_write), ElementsAre(0, 1));
    EXPECT_THAT(intervals(write_after_read), ElementsAre(0, 1));
}

TEST(Intervals, AStepMayChangeWhatItReads) {
    const std::vector<WorkStep> steps{{{1}, {1}}, {{2}, {3}}};
    EXPECT_THAT(intervals(steps), ElementsAre(0, 0));
}

TEST(Intervals, AHostActionIsAlone) {
    const std::vector<WorkStep> steps{{{}, {1}}, {{7}, {}, true}, {{}, {2}}, {{}, {3}}, {{7}, {}, true}};
    EXPECT_THAT(intervals(steps), ElementsAre(0, 1, 2, 2, 3));
}

TEST(Intervals, WhatAStepDoesMoreCounts) {
    Intervals all;
    EXPECT_EQ(all.add({{0}, {1}}), 0);
    EXPECT_EQ(all.add({{0}, {2}}), 0);
    all.extend(0, {{4}, {3}});
    EXPECT_EQ(all.add({{3}, {5}}), 1) << "made in the one before";
    all.extend(0, {{}, {6}});
    EXPECT_EQ(all.add({{6}, {7}}), 1) << "made before this one";
    EXPECT_EQ(all.add({{}, {6}}), 2) << "read in this one";
}

// --- plan_scratch

TEST(PlanScratch, OfNothing) {
    const ScratchPlan plan = plan_scratch({}, {}, {}, 64);
    EXPECT_EQ(plan.bytes, 0);
    EXPECT_THAT(plan.offset, IsEmpty());
}

TEST(PlanScratch, LeavesOutWhatIsNotScratchOrNotUsed) {
    const std::vector<WorkStep> steps{{{0}, {1}}};
    const ScratchPlan plan = plan_scratch(steps, intervals(steps), std::vector<int64_t>{-1, 100, 50}, 64);
    EXPECT_THAT(plan.offset, ElementsAre(-1, 0, -1));
    EXPECT_EQ(plan.bytes, 100);
}

TEST(PlanScratch, AChainNeedsTwoPlaces) {
    const std::vector<WorkStep> steps{{{}, {0}}, {{0}, {1}}, {{1}, {2}}, {{2}, {3}}};
    const std::vector<int64_t> bytes(4, 128);
    const ScratchPlan plan = plan_scratch(steps, intervals(steps), bytes, 64);
    EXPECT_EQ(plan.bytes, 256);
}

// 0 is shown and read once more, 1 and 2 are filled by the host: all three are there at the same time.
TEST(PlanScratch, WhatTheHostFillsIsBesideWhatItIsShown) {
    const std::vector<WorkStep> steps{{{}, {0}}, {{0}, {1, 2}, true}, {{0, 1}, {3}}};
    const ScratchPlan plan =
        plan_scratch(steps, intervals(steps), std::vector<int64_t>{128, 128, 128, 128}, 64);
    EXPECT_EQ(plan.bytes, 384);
    EXPECT_EQ(plan.offset[3], plan.offset[2]) << "nobody reads 2";
}

TEST(PlanScratch, ValuesOfNoBytesTakeNone) {
    const std::vector<WorkStep> steps{{{}, {0, 1}}};
    const ScratchPlan plan = plan_scratch(steps, intervals(steps), std::vector<int64_t>{0, 0}, 64);
    EXPECT_EQ(plan.bytes, 0);
    EXPECT_THAT(plan.offset, Each(0));
}

// --- properties on random lists of steps

struct RandomPlan {
    std::vector<WorkStep> steps;
    std::vector<int64_t> bytes;
};

RandomPlan random_plan(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return random() % n; };
    RandomPlan plan;
    const size_t storages = 1 + below(20);
    for (size_t s = 0; s < storages; ++s)
        plan.bytes.push_back(below(5) == 0 ? -1 : static_cast<int64_t>(below(500)));
    const size_t steps = below(40);
    for (size_t i = 0; i < steps; ++i) {
        WorkStep& step = plan.steps.emplace_back();
        step.alone = below(10) == 0;
        for (size_t r = below(4); r > 0; --r) step.reads.push_back(static_cast<int32_t>(below(storages)));
        for (size_t w = step.alone ? below(3) : 1 + below(2); w > 0; --w)
            step.writes.push_back(static_cast<int32_t>(below(storages)));
    }
    return plan;
}

bool share(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
    return std::ranges::any_of(a, [&](int32_t s) { return std::ranges::count(b, s) > 0; });
}

bool conflict(const WorkStep& a, const WorkStep& b) {
    return share(a.writes, b.writes) || share(a.writes, b.reads) || share(a.reads, b.writes);
}

TEST(Intervals, RespectEveryHazardAndNoMore) {
    int merged = 0;
    for (uint64_t seed = 0; seed < 500; ++seed) {
        const RandomPlan plan = random_plan(seed);
        const std::vector<int32_t> of = intervals(plan.steps);
        ASSERT_EQ(of.size(), plan.steps.size());
        for (size_t i = 0; i < of.size(); ++i) {
            if (i == 0) {
                ASSERT_EQ(of[0], 0);
                continue;
            }
            ASSERT_TRUE(of[i] == of[i - 1] || of[i] == of[i - 1] + 1);
            bool must_break = plan.steps[i].alone || plan.steps[i - 1].alone;
            for (size_t j = 0; j < i; ++j) {
                if (of[j] == of[i - 1]) must_break |= conflict(plan.steps[j], plan.steps[i]);
            }
            ASSERT_EQ(of[i] != of[i - 1], must_break) << "seed " << seed << " step " << i;
            merged += must_break ? 0 : 1;
        }
    }
    EXPECT_GT(merged, 100) << "the lists have independent steps";
}

struct Life {
    int32_t first = 1 << 30;
    int32_t last = -1;
};

std::vector<Life> lives_of(const RandomPlan& plan, const std::vector<int32_t>& interval_of) {
    std::vector<Life> lives(plan.bytes.size());
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        for (const auto* list : {&plan.steps[i].reads, &plan.steps[i].writes}) {
            for (int32_t s : *list) {
                Life& life = lives[static_cast<size_t>(s)];
                life.first = std::min(life.first, interval_of[i]);
                life.last = std::max(life.last, interval_of[i]);
            }
        }
    }
    return lives;
}

TEST(PlanScratch, LivingStoragesNeverShareBytes) {
    int reused = 0;
    for (uint64_t seed = 0; seed < 500; ++seed) {
        const RandomPlan plan = random_plan(seed);
        const std::vector<int32_t> interval_of = intervals(plan.steps);
        const int64_t alignment = int64_t{1} << (seed % 8);
        const ScratchPlan scratch = plan_scratch(plan.steps, interval_of, plan.bytes, alignment);
        const std::vector<Life> lives = lives_of(plan, interval_of);
        int64_t end = 0;
        for (size_t a = 0; a < lives.size(); ++a) {
            if (plan.bytes[a] < 0 || lives[a].last < 0) {
                ASSERT_EQ(scratch.offset[a], -1) << "seed " << seed;
                continue;
            }
            ASSERT_GE(scratch.offset[a], 0);
            ASSERT_EQ(scratch.offset[a] % alignment, 0);
            end = std::max(end, scratch.offset[a] + plan.bytes[a]);
            for (size_t b = 0; b < a; ++b) {
                if (scratch.offset[b] < 0) continue;
                const bool overlap = scratch.offset[a] < scratch.offset[b] + plan.bytes[b] &&
                                     scratch.offset[b] < scratch.offset[a] + plan.bytes[a];
                const bool together = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
                ASSERT_FALSE(overlap && together) << "seed " << seed << ": " << a << " and " << b;
                reused += overlap ? 1 : 0;
            }
        }
        ASSERT_EQ(scratch.bytes, end) << "seed " << seed;
    }
    EXPECT_GT(reused, 100) << "memory is used again";
}

TEST(PlanScratch, IsAFunctionOfItsArguments) {
    const RandomPlan plan = random_plan(3);
    const std::vector<int32_t> interval_of = intervals(plan.steps);
    const ScratchPlan once = plan_scratch(plan.steps, interval_of, plan.bytes, 64);
    const ScratchPlan again = plan_scratch(plan.steps, interval_of, plan.bytes, 64);
    EXPECT_EQ(once.offset, again.offset);
    EXPECT_EQ(once.bytes, again.bytes);
}

}  // namespace
}  // namespace plait::plan
