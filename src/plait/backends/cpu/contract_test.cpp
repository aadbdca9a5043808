#include "plait/backends/cpu/cpu_device.h"
#include "plait/base/cores.h"
#include "plait/device/case_graph.h"
#include "plait/device/contract_suite.h"

namespace plait::device::contract {
namespace {

using backends::cpu::CpuOptions;
using backends::cpu::simd::SimdLevel;

double exact_bound(const ir::test::OpCase& op_case) { return op_case.error_bound; }

Cores& cores() {
    static Cores these;
    return these;
}

DeviceCase cpu_case(const std::string& name, const CpuOptions& options) {
    return {.name = name,
            .make = [options] { return std::make_unique<backends::cpu::CpuDevice>(cores(), options); },
            .error_bound = options.exact ? exact_bound : quantised_bound};
}

std::vector<DeviceCase> cpu_cases() {
    std::vector<DeviceCase> cases;
    for (SimdLevel level : backends::cpu::simd::kAllLevels) {
        if (!backends::cpu::simd::has_level(level)) continue;
        const std::string name = backends::cpu::simd::name(level);
        cases.push_back(cpu_case(name, {.workers = 2, .simd = level}));
        cases.push_back(cpu_case(name + "_rows", {.workers = 1, .simd = level, .repack = false}));
        cases.push_back(cpu_case(name + "_exact", {.workers = 5, .simd = level, .exact = true}));
    }
    // Pages that are bound, or meant to be, are as good as others.
    cases.push_back(
        cpu_case("node", {.workers = 2, .node = cores().nodes().empty() ? 0 : cores().nodes()[0].id}));
    return cases;
}

INSTANTIATE_TEST_SUITE_P(Cpu, DeviceContract, testing::ValuesIn(cpu_cases()), case_name);

}  // namespace
}  // namespace plait::device::contract
