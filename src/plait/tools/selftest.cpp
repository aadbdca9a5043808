#include "plait/tools/selftest.h"

#include <fmt/format.h>

#include <memory>

#include "plait/backends/cpu/cpu_device.h"
#include "plait/backends/sim/sim_device.h"
#include "plait/base/error.h"
#include "plait/device/case_graph.h"

namespace plait::tools {
namespace {

using backends::cpu::CpuDevice;
using backends::cpu::simd::SimdLevel;
using ir::test::OpCase;

class Tester {
  public:
    explicit Tester(SelftestResult& result) : result_(result), cases_(ir::test::op_cases()) {}

    void test(const std::string& name, device::Device& device, bool exact) {
        result_.parts.push_back({name, 0});
        const auto stream = device.make_stream();
        for (const OpCase& op_case : cases_) test_case(op_case, device, *stream, exact);
    }

  private:
    void test_case(const OpCase& op_case, device::Device& device, device::Stream& stream, bool exact) {
        const int rows = device.describe().find_layout(device::kRowLayout);
        const double bound = exact ? op_case.error_bound : device::contract::quantised_bound(op_case);
        for (int layout = 0; layout < static_cast<int>(device.describe().buffer_types.size()); ++layout) {
            if (!device::contract::has_weights(op_case) && layout != rows) continue;
            const device::contract::CaseGraph graph(op_case, rows, layout);
            if (!graph.support(device)) continue;
            ++result_.parts.back().calls;
            const std::string fault = run(graph, device, stream, bound);
            if (fault.empty()) continue;
            result_.failures.push_back(
                fmt::format("{}: {} ({}): {}", result_.parts.back().device, op_case.name,
                            device.describe().buffer_types[static_cast<size_t>(layout)].layout_id, fault));
        }
    }

    static std::string run(const device::contract::CaseGraph& graph, device::Device& device,
                           device::Stream& stream, double bound) {
        const OpCase& op_case = graph.op_case();
        const auto expected = ir::test::run_reference(op_case.op, op_case.inputs, *op_case.step);
        try {
            return ir::test::difference(op_case, expected, graph.run_on(device, stream), bound);
        } catch (const Error& error) {
            return error.what();
        }
    }

    SelftestResult& result_;
    const std::vector<OpCase> cases_;
};

}  // namespace

SelftestResult selftest() {
    SelftestResult result;
    Tester tester(result);
    Cores cores;
    for (SimdLevel level : backends::cpu::simd::kAllLevels) {
        if (!backends::cpu::simd::has_level(level)) continue;
        for (bool exact : {false, true}) {
            CpuDevice device(cores, {.simd = level, .exact = exact});
            tester.test(fmt::format("cpu {}{}", backends::cpu::simd::name(level), exact ? " exact" : ""),
                        device, exact);
        }
    }
    backends::sim::SimDevice sim(cores, {});
    tester.test("sim", sim, true);
    return result;
}

std::string selftest_text(const SelftestResult& result) {
    std::string text;
    for (const std::string& failure : result.failures) text += "FAILED " + failure + "\n";
    int64_t calls = 0;
    for (const SelftestPart& part : result.parts) {
        text += fmt::format("{:<24} {} calls\n", part.device, part.calls);
        calls += part.calls;
    }
    text += fmt::format("selftest: {} calls on {} devices, {} failed\n", calls, result.parts.size(),
                        result.failures.size());
    return text;
}

}  // namespace plait::tools
