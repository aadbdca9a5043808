#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plait/ir/test_support.h"

// The shared op harness's material: calls of every op with a reference, over formats, odd sizes and partly
// filled steps. A device runs them and compares with run_reference().
namespace plait::ir::test {

struct OpCase {
    std::string name;  // "matmul Q4_0 [17, 96] x 3 of 8 rows"
    Op op;
    std::vector<TestTensor> inputs;
    std::shared_ptr<const TestStep> step;
    // Bound of normalised_error() for a kernel that computes in F32 in whatever order. Kernels that round
    // their operands first have a bound of their own.
    double error_bound = 1e-10;
};

// Views and host actions have no reference and no case.
std::vector<OpCase> op_cases();

// Empty if `actual` may stand for `expected`, else what is wrong: output, kind of difference, size.
// F32 outputs are compared over the actual rows and must leave the rest alone; ids must be equal; state is
// compared as a whole.
std::string difference(const OpCase& op_case, const std::vector<TestTensor>& expected,
                       const std::vector<TestTensor>& actual, double error_bound);

}  // namespace plait::ir::test
