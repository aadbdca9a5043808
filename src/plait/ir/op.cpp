#include "plait/ir/op.h"

#include <fmt/format.h>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::ir {

int64_t Call::rows(const Operand& operand) const {
    switch (operand.desc.rows) {
        case Rows::fixed:
            return operand.desc.shape[0];
        case Rows::tokens:
            return *step->token_count;
        case Rows::outputs:
            return *step->output_count;
    }
    ENSURE(false, "every kind of row is counted");
}

void expect_input_count(const char* op, std::span<const TensorDesc> inputs, size_t least, size_t most) {
    if (inputs.size() >= least && inputs.size() <= most) return;
    throw Error(fmt::format("{}: expected {} to {} operands, found {}", op, least, most, inputs.size()));
}

void expect_shape(bool condition, const char* op, const char* expected, const TensorDesc& found) {
    if (!condition) throw Error(fmt::format("{}: expected {}, found {}", op, expected, found.text()));
}

}  // namespace plait::ir
