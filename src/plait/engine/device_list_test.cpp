#include "plait/engine/device_list.h"

#include <gmock/gmock.h>

#include "plait/base/error.h"

namespace plait::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> names(const std::string& list,
                               const ImaginedMachine& machine = {.topology = "pu:4"}) {
    const Cores cores(imagine_cores(machine));
    return names_of(expand_numa(parse_device_list(list), cores));
}

auto parsing(const std::string& list) {
    return [list] { parse_device_list(list); };
}

TEST(DeviceList, NamesAreTheTextsNumberedWhereTheyRecur) {
    EXPECT_THAT(names("cpu"), ElementsAre("cpu"));
    EXPECT_THAT(names("cpu*2,sim:1G"), ElementsAre("cpu0", "cpu1", "sim:1G"));
    EXPECT_THAT(names("cpu:0-1,3,sim,sim"), ElementsAre("cpu:0-1,3", "sim0", "sim1"));
}

TEST(DeviceList, NumaIsADeviceForEveryNodeWithCores) {
    EXPECT_THAT(names("cpu:numa", {.topology = "numa:2 core:4 pu:2"}), ElementsAre("cpu:node0", "cpu:node1"));
    EXPECT_THAT(names("sim,cpu:numa,sim", {.topology = "numa:2 pu:2"}),
                ElementsAre("sim0", "cpu:node0", "cpu:node1", "sim1"));
    EXPECT_THAT(names("cpu:numa", {.topology = "numa:4 core:2 pu:1", .usable = {1, 4, 5, 7}}),
                ElementsAre("cpu:node0", "cpu:node2", "cpu:node3"));
    EXPECT_THAT(names("cpu:numa", {.topology = "[numa] pack:2 [numa] core:2 pu:1"}).size(), 2u)
        << "memory without cores is no member";
}

TEST(DeviceList, NumaIsCpuWhereThereIsOneNode) {
    EXPECT_THAT(names("cpu:numa", {.topology = "numa:1 core:4 pu:1"}), ElementsAre("cpu"));
    EXPECT_THAT(names("cpu:numa,sim", {.topology = "numa:2 pu:2", .usable = {2}}), ElementsAre("cpu", "sim"));
    EXPECT_THAT(names_of(expand_numa(parse_device_list("cpu:numa"), Cores({.cpus = {0, 1}}))),
                ElementsAre("cpu"));
}

TEST(DeviceList, AQuotaBelowTheNodesLeavesThoseWithMostCores) {
    EXPECT_THAT(names("cpu:numa", {.topology = "numa:3 pu:3", .usable = {0, 3, 4, 5, 6, 7}, .quota = 1.5}),
                ElementsAre("cpu:node1", "cpu:node2"));
    EXPECT_THAT(names("cpu:numa", {.topology = "numa:2 pu:2", .quota = 0.5}), ElementsAre("cpu"));
    EXPECT_THAT(names("cpu:numa", {.topology = "numa:2 pu:2", .quota = 2}),
                ElementsAre("cpu:node0", "cpu:node1"));
}

TEST(DeviceList, RefusesWithASentence) {
    EXPECT_THAT([] { names("cpu:numa", {.topology = "numa:257 core:1 pu:1"}); },
                ThrowsMessage<Error>(HasSubstr("at most 256 devices, found 257")));
    EXPECT_THAT(parsing("gpu"), ThrowsMessage<Error>(HasSubstr("\"gpu\" is unknown; known are cpu, ")));
    EXPECT_THAT(parsing("cpu:0-1*2"), ThrowsMessage<Error>(HasSubstr("as in cpu:0-1,cpu:2-3")));
    EXPECT_THAT(parsing("cpu:numa*2"), ThrowsMessage<Error>(HasSubstr("leave out the count")));
    for (const char* list : {"cpu:numa,cpu", "cpu:0,cpu:numa", "cpu:numa,cpu:numa", "cpu*2,cpu:numa"})
        EXPECT_THAT(parsing(list), ThrowsMessage<Error>(HasSubstr("cpu:numa takes all usable cores")))
            << list;
    EXPECT_THAT(parsing("cpu*257"), ThrowsMessage<Error>(HasSubstr("a count from 1 to 256")));
    EXPECT_THAT(parsing("cpu*200,cpu*200"),
                ThrowsMessage<Error>(HasSubstr("at most 256 devices, found 400")));
}

}  // namespace
}  // namespace plait::engine
