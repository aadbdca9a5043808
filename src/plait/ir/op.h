#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plait/ir/shard_rule.h"
#include "plait/ir/step.h"
#include "plait/ir/tensor.h"

// What every op's descriptor answers. The ops themselves are in ops/, their list in ops/list.h.
namespace plait::ir {

// One operand of a call, in the row layout that TensorDesc describes.
struct Operand {
    TensorDesc desc;
    std::byte* data = nullptr;

    std::byte* row(int64_t index) const { return data + index * desc.row_bytes(); }
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(data);
    }
};

// A call of an op on actual data. Row counts come from the step, not from the shapes.
struct Call {
    std::span<const Operand> inputs;
    std::span<const Operand> outputs;
    const StepView* step = nullptr;

    // How many indices of the operand's outermost axis this step really has.
    int64_t rows(const Operand& operand) const;
    // The same in innermost rows, over all axes but the last; the operand has two axes at least.
    int64_t inner_rows(const Operand& operand) const;
};

// Shapes and types of the outputs. Throws Error naming operand, expected and found shape when the inputs do
// not fit.
template <class OpType>
using InferFn = std::vector<TensorDesc> (*)(const OpType& op, std::span<const TensorDesc> inputs);

// Computes one call on one thread, plainly and in F32 unless the op says otherwise: the meaning of the op,
// which every kernel is tested against, and what a device without a kernel of its own runs.
template <class OpType>
using ReferenceFn = void (*)(const OpType& op, const Call& call);

// Which inputs of an op are state and are written: its outputs are their next versions, in order, in the same
// storage.
enum class StateWrites : uint8_t {
    none,
    last_input,
    all_inputs,
};

// The written inputs are those from this one on.
inline size_t first_written(StateWrites writes, size_t input_count) {
    switch (writes) {
        case StateWrites::none:
            return input_count;
        case StateWrites::last_input:
            return input_count - 1;
        case StateWrites::all_inputs:
            return 0;
    }
    return input_count;
}

template <class OpType>
struct Descriptor {
    const char* name;
    InferFn<OpType> infer;
    ReferenceFn<OpType> reference;
    // Operands in which the op is linear, bit i for input i: a reduction of such an operand may move behind
    // the op.
    uint32_t linear_in = 0;
    StateWrites writes_state = StateWrites::none;
    // The output is the first input under another shape and shares its storage; reference is then nullptr.
    bool view = false;
    // The op happens on the host, between two segments of a program: the host may read the inputs and, unless
    // the op is a view, fills the outputs. reference is then nullptr.
    bool host_action = false;
    // The members of a device run it together (ops/collective.h); reference is then nullptr.
    bool collective = false;
    // The op decides something, so all members must run it on the same bits, however they came by them.
    bool decides = false;
    // How the op behaves when operands are spread over members; none: it stands in members' graphs only.
    ShardFn<OpType> shard = nullptr;
};

// The place of number `id` among `count` things, of which the first has number `first`; -1: it is not among
// them.
inline int64_t place_among(int64_t id, int64_t first, int64_t count) {
    return id >= first && id - first < count ? id - first : -1;
}

// Throws Error unless `inputs` has between `least` and `most` entries; kAnyCount for no upper limit.
inline constexpr size_t kAnyCount = SIZE_MAX;
void expect_input_count(const char* op, std::span<const TensorDesc> inputs, size_t least, size_t most);
// Throws Error unless the condition holds; `what` completes "<op>: expected ..., found ...".
void expect_shape(bool condition, const char* op, std::string_view expected, const TensorDesc& found);

}  // namespace plait::ir
