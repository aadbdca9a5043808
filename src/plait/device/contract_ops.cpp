#include <gmock/gmock.h>

#include "plait/device/case_graph.h"
#include "plait/device/contract_suite.h"

// Every op case on the device, in every weight layout it has, against the reference kernel.
namespace plait::device::contract {
namespace {

using ir::test::OpCase;

// Whether the device has a kernel for it; if it has not, it must say so.
bool is_supported(Device& device, const CaseGraph& graph) {
    if (graph.support(device)) return true;
    const std::string sentence =
        error_of([&] { (void)device.compile(graph.graph(), graph.material().layouts); });
    EXPECT_THAT(sentence, testing::HasSubstr("the op")) << graph.op_case().name;
    return false;
}

TEST_P(DeviceContract, ComputesEveryOpCaseInEveryLayout) {
    const DeviceDescription& self = device().describe();
    const int row_layout = self.find_layout(kRowLayout);
    for (const OpCase& op_case : ir::test::op_cases()) {
        int supported = 0;
        for (int layout = 0; layout < static_cast<int>(self.buffer_types.size()); ++layout) {
            if (!has_weights(op_case) && layout != row_layout) continue;
            const CaseGraph graph(op_case, row_layout, layout);
            if (!is_supported(device(), graph)) continue;
            ++supported;
            const auto expected = ir::test::run_reference(op_case.op, graph.op_case().inputs, *op_case.step);
            EXPECT_EQ(ir::test::difference(op_case, expected, graph.run_on(device(), stream()),
                                           GetParam().error_bound(op_case)),
                      "")
                << self.buffer_types[static_cast<size_t>(layout)].layout_id;
        }
        EXPECT_TRUE(supported > 0 || !GetParam().every_op) << op_case.name;
    }
}

}  // namespace
}  // namespace plait::device::contract
