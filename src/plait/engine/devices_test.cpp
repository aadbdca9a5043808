#include "plait/engine/devices.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "plait/base/error.h"
#include "plait/base/recording_binder.h"

namespace plait::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Devices of an imagined machine, and what they would bind.
class Imagined {
  public:
    Imagined(const std::string& devices, const ImaginedMachine& machine, int threads = 0)
        : cores_(imagine_cores(machine), std::move(recorded_)) {
        options_.devices = devices;
        options_.threads = threads;
        options_.simd = "scalar";
        members_ = make_members(options_, cores_);
    }

    std::vector<std::string> texts(std::string device::DeviceDescription::*what) const {
        std::vector<std::string> all;
        for (const auto& member : members_) all.push_back(member->describe().*what);
        return all;
    }
    std::string notes() const { return device_notes(options_, cores_); }
    device::Device& member(size_t i) { return *members_[i]; }
    const RecordingBinder& binder() const { return binder_; }
    Cores& cores() { return cores_; }
    const EngineOptions& options() const { return options_; }

    // Of the threads that member i has and starts now, ascending; worker 0 is whoever calls.
    std::vector<int> cores_of_threads(size_t i) {
        const size_t before = binder_.threads().size();
        const auto stream = members_[i]->make_stream();
        std::vector<int> bound;
        const auto all = binder_.threads();
        for (size_t t = before; t < all.size(); ++t) bound.push_back(all[t].cpu);
        std::ranges::sort(bound);
        return bound;
    }

  private:
    std::unique_ptr<RecordingBinder> recorded_ = std::make_unique<RecordingBinder>();
    const RecordingBinder& binder_ = *recorded_;
    Cores cores_;
    EngineOptions options_;
    std::vector<std::unique_ptr<device::Device>> members_;
};

using device::DeviceDescription;

TEST(Devices, EveryNodeIsAMemberWithItsOwnMemoryAndCores) {
    Imagined machine("cpu:numa", {.topology = "numa:2 core:4 pu:1", .usable = {0, 1, 2, 5, 7}});
    EXPECT_THAT(machine.texts(&DeviceDescription::name), ElementsAre("cpu:node0", "cpu:node1"));
    EXPECT_THAT(machine.texts(&DeviceDescription::memory), ElementsAre("node0", "node1"));
    EXPECT_THAT(machine.texts(&DeviceDescription::cores), ElementsAre("0-2", "5,7"));
    EXPECT_EQ(machine.member(1).describe().node, 1);
    EXPECT_EQ(machine.notes(), "");
    EXPECT_THAT(machine.cores_of_threads(0), ElementsAre(1, 2));
    EXPECT_THAT(machine.cores_of_threads(1), ElementsAre(7));
    const std::vector<ir::TensorDesc> tensors{{ir::DType::F32, {64}}};
    const auto second = machine.member(1).row_buffer_type().alloc(tensors, device::Usage::state);
    const auto first = machine.member(0).row_buffer_type().alloc(tensors, device::Usage::weights);
    ASSERT_EQ(machine.binder().memory().size(), 2u);
    EXPECT_EQ(machine.binder().memory()[0].node, 1);
    EXPECT_EQ(machine.binder().memory()[1].node, 0);
}

TEST(Devices, NamedCoresAreTiedDownAndOthersAreNot) {
    Imagined named("cpu:0-3,cpu:4-5", {.topology = "core:6 pu:1"});
    EXPECT_THAT(named.texts(&DeviceDescription::cores), ElementsAre("0-3", "4-5"));
    EXPECT_THAT(named.cores_of_threads(0), ElementsAre(1, 2, 3));
    EXPECT_THAT(named.cores_of_threads(1), ElementsAre(5));
    EXPECT_TRUE(named.cores().spin_allowed());
    Imagined dealt("cpu*2", {.topology = "core:6 pu:1"});
    EXPECT_THAT(dealt.texts(&DeviceDescription::cores), ElementsAre("", ""));
    EXPECT_TRUE(dealt.cores_of_threads(0).empty());
    EXPECT_TRUE(dealt.binder().memory().empty() && named.binder().memory().empty());
}

TEST(Devices, SaysWhyNumaHasFewerMembersThanOneMayThink) {
    EXPECT_THAT(Imagined("cpu:numa", {.topology = "numa:1 pu:4"}).notes(),
                HasSubstr("one NUMA node, which is one member, as cpu is"));
    EXPECT_THAT(Imagined("sim,cpu:numa", {.topology = "numa:2 pu:4", .usable = {6}}).notes(),
                HasSubstr("one NUMA node"));
    EXPECT_EQ(Imagined("cpu:numa", {.topology = "numa:4 pu:2", .quota = 2}).notes(),
              "cpu:numa: of 4 NUMA nodes only 0-1 are used, since this process is granted the time of 2 "
              "processors");
    EXPECT_EQ(Imagined("cpu:numa", {.topology = "numa:4 pu:2", .quota = 1}).notes(),
              "cpu:numa: of 4 NUMA nodes only 0 is used, since this process is granted the time of 1 "
              "processor: one member, as cpu is");
    EXPECT_EQ(Imagined("cpu", {.topology = "numa:1 pu:4"}).notes(), "");
}

TEST(Devices, SeveralBecomeOneWithTheMemoriesOfAllNodes) {
    Imagined machine("cpu:numa,sim:1G", {.topology = "numa:2 pu:2"});
    const auto device = make_device(machine.options(), machine.cores());
    ASSERT_EQ(device->describe().member_count(), 3);
    int64_t sum = 0;
    for (size_t i = 0; i < 3; ++i) sum += device->describe().member(i).memory_bytes;
    EXPECT_EQ(device->describe().memory_bytes, sum) << "no two have one together";
}

}  // namespace
}  // namespace plait::engine
