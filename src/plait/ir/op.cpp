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

int64_t Call::inner_rows(const Operand& operand) const {
    int64_t count = rows(operand);
    for (int axis = 1; axis + 1 < operand.desc.shape.rank(); ++axis) count *= operand.desc.shape[axis];
    return count;
}

void expect_input_count(const char* op, std::span<const TensorDesc> inputs, size_t least, size_t most) {
    if (inputs.size() >= least && inputs.size() <= most) return;
    const std::string range = least == most       ? fmt::format("{}", least)
                              : most == kAnyCount ? fmt::format("at least {}", least)
                                                  : fmt::format("{} to {}", least, most);
    throw Error(fmt::format("{}: expected {} operands, found {}", op, range, inputs.size()));
}

void expect_shape(bool condition, const char* op, std::string_view expected, const TensorDesc& found) {
    if (!condition) throw Error(fmt::format("{}: expected {}, found {}", op, expected, found.text()));
}

}  // namespace plait::ir
