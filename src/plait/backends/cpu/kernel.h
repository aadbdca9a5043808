#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/backends/cpu/simd/kernel_table.h"
#include "plait/collectives/local/group.h"
#include "plait/device/describe.h"
#include "plait/ir/graph.h"

// How the CPU device runs one op: its work is cut into items that any worker may take, in any order, each
// exactly once.
namespace plait::backends::cpu {

// Where the members of a group meet, as one of them sees it.
struct Meeting {
    collectives::local::LocalGroup* group = nullptr;
    int member = 0;  // whose call it is
    int index = 0;   // among the meetings of its segment

    const collectives::local::Part& part(int of_member) const { return group->part(of_member, index); }
};

// A node bound to memory. Operands have the row layout unless the kernel's row says otherwise for weights.
struct KernelCall {
    const ir::Op* op = nullptr;
    ir::Call operands;
    const simd::KernelTable* simd = nullptr;
    // The first input as the kernel's activation format wants it, for kernels that do not read it as F32.
    simd::ActBlocks quantised{};
    // Where the output belongs quantised as well; blocks == nullptr: nowhere.
    simd::ActBlocks twin{};
    // What Kernel::shared asked for. Counters of a product that heads follow: for each of its row blocks, how
    // many values of each head are written.
    std::span<std::byte> shared;
    std::span<std::atomic<int32_t>> counters;
    int32_t workers = 1;
    const Meeting* meeting = nullptr;  // of collectives

    // What is done with every stretch of the output as soon as it is written: another call and its
    // Kernel::values; nullptr: nothing.
    const KernelCall* then = nullptr;
    void (*then_values)(const KernelCall& call, int64_t begin, int64_t count) = nullptr;

    // What is done with every head of the output as soon as it is whole, in this order: item h of each, for
    // head h.
    struct ThenHead {
        const KernelCall* call = nullptr;
        void (*run)(const KernelCall& call, int64_t item, std::byte* workspace) = nullptr;
    };
    std::span<const ThenHead> then_heads;

    // Values [begin, begin + count) of the output are written: multiples of kQuantisedBlock with a twin.
    void finish(int64_t begin, int64_t count) const;
    // The same for values [begin, begin + count) of each of `rows` rows of the output from `row` on, which
    // are a block of kRowsPerItem or its begin.
    void finish_rows(int64_t row, int64_t rows, int64_t begin, int64_t count) const;
    // A head of the output is whole.
    void finish_head(int64_t head) const;

    template <class OpType>
    const OpType& as() const {
        return std::get<OpType>(*op);
    }
    const ir::Operand& in(size_t i) const { return operands.inputs[i]; }
    const ir::Operand& out(size_t i = 0) const { return operands.outputs[i]; }
    const ir::StepView& step() const { return *operands.step; }
};

// How a kernel wants its first input. Quantising happens once per value, for all kernels that read it.
enum class ActivationFormat : uint8_t {
    f32,  // as it is
    q8,   // int8 in blocks of 32 (simd::KernelTable::quantise)
};

// What all workers share while they run one op.
struct SharedNeeds {
    int64_t bytes = 0;     // contents unspecified
    int64_t counters = 0;  // 0 when the op begins
};

struct Kernel {
    device::SupportRow support;
    ActivationFormat activation = ActivationFormat::f32;
    // How many items the call has in this step, from the step's counts.
    int64_t (*items)(const KernelCall& call) = nullptr;
    // One item. `workspace` belongs to the worker: workspace_bytes() of it, contents unspecified.
    void (*run)(const KernelCall& call, int64_t item, std::byte* workspace) = nullptr;
    // Bytes one worker needs for the op on these operands; nullptr: none.
    int64_t (*workspace_bytes)(const ir::Op& op, std::span<const ir::TensorDesc> inputs) = nullptr;
    // nullptr: nothing. `groups` are the program's state groups.
    SharedNeeds (*shared)(const ir::Op& op, std::span<const ir::TensorDesc> inputs,
                          std::span<const ir::StepGroupLimits> groups, int32_t workers) = nullptr;
    // For kernels whose item i writes exactly values [i * stretch, (i + 1) * stretch) of the output: the
    // stretch, or kNoStretch for ops of which that is not true. What the item wrote can then be quantised at
    // once, where it is still in the cache, instead of in a step of its own. nullptr: items write otherwise.
    int64_t (*stretch)(const ir::Op& op, std::span<const ir::TensorDesc> inputs,
                       const ir::TensorDesc& output) = nullptr;
    // Whether items write such stretches in another order, and call finish() for each.
    bool finishes = false;
    // Whether an item's stretches are parts of the rows of one block of kRowsPerItem, multiples of
    // kQuantisedBlock where rows are, for which it calls finish_rows(): such a call can be followed value by
    // value and head by head, and joined with others of as many rows and values.
    bool can_lead = false;
    // Whether item i makes innermost row i of the output, or stores it, from that of the first input, without
    // a workspace: where those rows are heads, such a call can follow what makes them.
    bool by_head = false;
    // Whether the op is so little work for few tokens that every worker does it for itself, instead of one
    // while the others wait. The output's outermost axis counts tokens or outputs.
    bool by_everybody = false;
    // For ops on every value by itself: values [begin, begin + count) of the output, within a row; nullptr:
    // other ops. All operands have the output's values, but a second one may be a row for all rows.
    void (*values)(const KernelCall& call, int64_t begin, int64_t count) = nullptr;
};
inline constexpr int64_t kNoStretch = 0;
// How many pieces an extent makes.
constexpr int64_t ceil_div(int64_t extent, int64_t piece) { return (extent + piece - 1) / piece; }
// Rows of the output that share an item of a kernel that can lead.
inline constexpr int64_t kRowsPerItem = 256;
// What few tokens are.
inline constexpr int64_t kFewTokens = 4;

// What the device was made for; decides which kernels its table has.
struct KernelChoice {
    const simd::KernelTable* simd = nullptr;
    bool exact = false;   // F32 activations everywhere
    bool packed = false;  // weights may lie in the packed layout
};

// All kernels, best first.
std::vector<Kernel> kernel_list(const KernelChoice& choice);

// Parts of the list, one per file in kernels/.
void add_matmul_kernels(const KernelChoice& choice, std::vector<Kernel>& list);
void add_attention_kernels(const KernelChoice& choice, std::vector<Kernel>& list);
void add_row_kernels(const KernelChoice& choice, std::vector<Kernel>& list);
void add_sampling_kernels(std::vector<Kernel>& list);

// The internal kernel behind ActivationFormat::q8: (x F32 [rows, ..., n]) -> blocks, row after row.
const Kernel& quantise_kernel();
// Values that are quantised together.
inline constexpr int64_t kQuantisedBlock = 32;
// Bytes of n quantised values, a multiple of kQuantisedBlock, with their residuals.
int64_t quantised_bytes(int64_t n);
// Where the parts of n quantised values lie in that many bytes.
simd::ActBlocks quantised_at(std::byte* bytes, int64_t n);
// The same from value `begin` on, a multiple of kQuantisedBlock.
simd::ActBlocks quantised_from(const simd::ActBlocks& all, int64_t begin);

}  // namespace plait::backends::cpu
