#include "plait/backends/sim/sim_device.h"
#include "plait/base/cores.h"
#include "plait/device/contract_suite.h"

namespace plait::device::contract {
namespace {

DeviceCase sim_case(const char* name, int64_t max_delay_us, uint64_t seed) {
    static Cores cores;
    const backends::sim::SimOptions options{.seed = seed, .max_delay_us = max_delay_us};
    // It computes with the kernels it is compared with.
    return {.name = name,
            .make = [options] { return std::make_unique<backends::sim::SimDevice>(cores, options); },
            .error_bound = [](const ir::test::OpCase&) { return 0.0; }};
}

INSTANTIATE_TEST_SUITE_P(Sim, DeviceContract,
                         testing::Values(sim_case("prompt", 0, 0), sim_case("late", 200, 1)), case_name);

}  // namespace
}  // namespace plait::device::contract
