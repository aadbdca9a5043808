#pragma once

#include <utility>
#include <vector>

#include "plait/device/contract_kit.h"
#include "plait/ir/op_cases.h"

// One op case of the shared harness as a program for a device: what the contract's tests and `plait selftest`
// run.
namespace plait::device::contract {

// A case as a graph of one op, the op's weights in one layout. F32 operands with a row per token or output
// come from tables of which each reads the row of its number.
class CaseGraph {
  public:
    // `row_layout` and `weight_layout`: buffer types of the device, by index.
    CaseGraph(ir::test::OpCase op_case, int row_layout, int weight_layout);

    const ir::Graph& graph() const { return graph_; }
    const Material& material() const { return material_; }
    const ir::test::OpCase& op_case() const { return case_; }
    const ir::Node& node() const { return graph_.nodes().back(); }

    // Whether the device has a kernel for the op in this layout.
    Support support(const Device& device) const;

    // Runs the program and waits. Throws Error with what the device had to say when it fails.
    std::vector<TestTensor> run_on(Device& device, Stream& stream) const;

  private:
    ir::ValueId route();
    ir::ValueId input(size_t i, const ir::StepView& step);
    ir::ValueId weight(const TestTensor& tensor, int layout);
    ir::ValueId state(const TestTensor& tensor);
    ir::ValueId feed(TestTensor tensor);
    ir::ValueId step_input(const TestTensor& tensor, const ir::StepView& step);

    ir::test::OpCase case_;
    const int row_layout_;
    const int weight_layout_;
    ir::Graph graph_;
    Material material_;
    std::vector<ir::ValueId> outputs_;
};

// Whether any operand is a weight: only then do layouts matter.
bool has_weights(const ir::test::OpCase& op_case);

// The error that a kernel which quantises its activations to 8 bits may have; the case's own bound for ops
// that have no such kernel.
double quantised_bound(const ir::test::OpCase& op_case);

}  // namespace plait::device::contract
