#include "plait/engine/member_cores.h"

#include <gmock/gmock.h>

#include <limits>

#include "plait/base/error.h"

namespace plait::engine {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

std::vector<MemberCores> dealt(const std::string& list, const ImaginedMachine& machine, int threads = 0) {
    const Cores cores(imagine_cores(machine));
    const auto devices = expand_numa(parse_device_list(list), cores);
    return deal_cores(devices, threads, cores);
}

std::vector<int> workers(const std::string& list, const ImaginedMachine& machine, int threads = 0) {
    std::vector<int> counts;
    for (const MemberCores& member : dealt(list, machine, threads)) counts.push_back(member.workers);
    return counts;
}

std::vector<std::vector<int>> pins(const std::string& list, const ImaginedMachine& machine, int threads = 0) {
    std::vector<std::vector<int>> all;
    for (const MemberCores& member : dealt(list, machine, threads)) all.push_back(member.pins);
    return all;
}

ImaginedMachine single_node(const std::string& cores, double quota = kNoQuota) {
    return {.topology = "numa:1 core:" + cores + " pu:1", .quota = quota};
}

TEST(MemberCores, UnnamedCoresAreDealtEvenlyAndNotTiedDown) {
    EXPECT_THAT(workers("cpu", single_node("5")), ElementsAre(5));
    EXPECT_THAT(workers("cpu*2", single_node("5")), ElementsAre(3, 2));
    EXPECT_THAT(workers("cpu*3", single_node("8", 4.5)), ElementsAre(2, 2, 1)) << "a quota counts";
    EXPECT_THAT(workers("cpu*5", single_node("2")), ElementsAre(1, 1, 1, 1, 1)) << "more members than cores";
    EXPECT_THAT(workers("cpu*2,sim", single_node("4")), ElementsAre(2, 2, 0));
    EXPECT_THAT(workers("sim", single_node("4")), ElementsAre(0));
    EXPECT_THAT(pins("cpu*2", single_node("5")), Each(IsEmpty()));
}

TEST(MemberCores, NamedCoresHaveAWorkerEach) {
    EXPECT_THAT(pins("cpu:0-3,cpu:4-5", single_node("6")),
                ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5)));
    EXPECT_THAT(workers("cpu:0-3,cpu:4-5", single_node("6")), ElementsAre(4, 2));
    EXPECT_THAT(pins("cpu:5,0", single_node("6")), ElementsAre(ElementsAre(5, 0))) << "in the order given";
}

TEST(MemberCores, WhatIsNotNamedIsLeftForTheOthers) {
    EXPECT_THAT(workers("cpu:0-1,cpu", single_node("6")), ElementsAre(2, 4));
    EXPECT_THAT(workers("cpu:0-1,cpu:1-2,cpu*2", single_node("6")), ElementsAre(2, 2, 2, 1));
    EXPECT_THAT(workers("cpu:0-5,cpu*2", single_node("6")), ElementsAre(6, 1, 1));
}

TEST(MemberCores, ThreadsAskedForAreOfAllMembersTogether) {
    EXPECT_THAT(workers("cpu", single_node("2"), 7), ElementsAre(7));
    EXPECT_THAT(workers("cpu*2", single_node("4"), 3), ElementsAre(2, 1));
    EXPECT_THAT(workers("cpu*3", single_node("4"), 1), ElementsAre(1, 1, 1)) << "nobody has none";
    EXPECT_THAT(workers("cpu:0-3,cpu:4-5", single_node("6"), 3), ElementsAre(2, 1));
    EXPECT_THAT(pins("cpu:0-3,cpu:4-5", single_node("6"), 3), ElementsAre(ElementsAre(0, 1), ElementsAre(4)));
    EXPECT_THAT(workers("cpu:0-3,cpu:4-5", single_node("6"), 12), ElementsAre(8, 4));
    EXPECT_THAT(workers("sim,cpu", single_node("4"), 2), ElementsAre(0, 2));
}

TEST(MemberCores, NodesHaveTheirOwnCores) {
    EXPECT_THAT(pins("cpu:numa", {.topology = "numa:2 core:2 pu:1"}),
                ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
    EXPECT_THAT(pins("cpu:numa", {.topology = "numa:2 core:4 pu:1", .usable = {0, 1, 3, 6}}),
                ElementsAre(ElementsAre(0, 1, 3), ElementsAre(6)));
    EXPECT_THAT(pins("cpu:numa", {.topology = "numa:1 core:2 pu:1"}), ElementsAre(IsEmpty())) << "as cpu";
}

TEST(MemberCores, ANodeWithFewerWorkersThanCoresUsesPhysicalOnesFirst) {
    const ImaginedMachine machine{.topology = "numa:2 core:3 pu:2", .usable = {0, 1, 2, 3, 4, 5, 6, 7}};
    EXPECT_THAT(workers("cpu:numa", machine), ElementsAre(6, 2));
    EXPECT_THAT(pins("cpu:numa", machine, 4), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(6)));
    ImaginedMachine granted = machine;
    granted.quota = 5;
    EXPECT_THAT(pins("cpu:numa", granted), ElementsAre(ElementsAre(0, 2, 4, 1), ElementsAre(6)));
}

TEST(MemberCores, NobodyHasNoWorker) {
    EXPECT_THAT(
        workers("cpu:numa", {.topology = "numa:2 pu:8", .usable = {0, 1, 2, 3, 4, 5, 6, 8}, .quota = 2}),
        ElementsAre(2, 1))
        << "one of the two that the quota grants would be nobody's";
    EXPECT_THAT(workers("cpu:numa", {.topology = "numa:2 core:2 pu:1"}, 1), ElementsAre(1, 1));
    EXPECT_THAT(workers("cpu:numa,sim", {.topology = "numa:2 core:2 pu:1"}, 16), ElementsAre(8, 8, 0));
}

TEST(MemberCores, RefusesCoresThatAreNotThere) {
    EXPECT_THAT([] { dealt("cpu:0-1,cpu:4", single_node("4")); },
                ThrowsMessage<Error>(HasSubstr("core 4 of '4' is not among the cores")));
}

TEST(Deal, GivesTheRestToTheGreatestRemainders) {
    EXPECT_THAT(deal(10, std::vector<int>{1, 1, 1}, 0), ElementsAre(4, 3, 3));
    EXPECT_THAT(deal(10, std::vector<int>{3, 1}, 0), ElementsAre(8, 2));
    EXPECT_THAT(deal(5, std::vector<int>{10, 1, 0}, 0), ElementsAre(5, 0, 0));
    EXPECT_THAT(deal(5, std::vector<int>{10, 1, 0}, 1), ElementsAre(5, 1, 0));
    EXPECT_THAT(deal(1024, std::vector<int>{1 << 30, 1 << 30}, 0), ElementsAre(512, 512));
}

}  // namespace
}  // namespace plait::engine
