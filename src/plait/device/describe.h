#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/ir/graph.h"

// What a device says about itself: a plain value that can be compared, sent and hashed, so that planning
// never needs the device. All functions are pure.
namespace plait::device {

// A set of formats, one bit per dtype::DType.
using FormatSet = uint64_t;
constexpr FormatSet format_bit(ir::DType type) { return FormatSet{1} << static_cast<unsigned>(type); }
template <class... Types>
constexpr FormatSet formats(Types... types) {
    return (format_bit(types) | ... | FormatSet{0});
}

static_assert(dtype::kTypeCount <= 64);
// Every format that weights, and that caches, can have.
FormatSet weight_formats();
FormatSet cache_formats();

// The layout every device understands: rows as TensorDesc describes them, as they lie in a GGUF file.
inline constexpr const char* kRowLayout = "rows/1";

struct BufferTypeDescription {
    std::string layout_id;  // names a byte layout and its version: equal ids, equal bytes
    bool host_readable = false;
    int64_t alignment = 1;  // of every tensor, bytes
    int64_t over_read = 0;  // bytes a kernel may read behind a tensor; they exist, and are zero
    bool operator==(const BufferTypeDescription&) const = default;
};

// One line of a device's kernel table as planning sees it. An op is supported when a row of its fits: every
// weight operand has one of `weight_formats` in `weight_layout` and an innermost extent that is a multiple of
// `weight_multiple`; every state operand has one of `state_formats`.
struct SupportRow {
    ir::OpId op = 0;
    FormatSet weight_formats = 0;
    std::string weight_layout = kRowLayout;
    int64_t weight_multiple = 1;
    FormatSet state_formats = 0;
    bool operator==(const SupportRow&) const = default;
};

struct DeviceDescription {
    std::string name;          // as in the device list: "cpu", "sim"
    std::string kind;          // "cpu", "sim"
    std::string signature;     // devices with equal signatures give equal bits on equal inputs
    std::string details;       // for people: processor, SIMD level, threads
    std::string memory;        // devices with equal names here have one memory together
    int64_t memory_bytes = 0;  // free for weights, state and scratch when asked
    int32_t workers = 1;
    std::string cores;  // "0-3,8": those its workers are tied to; empty: wherever the system likes
    int32_t node = -1;  // the NUMA node whose memory it has; -1: none in particular
    std::vector<DeviceDescription> members;           // of a device that is made of several
    std::vector<BufferTypeDescription> buffer_types;  // for weights, best first
    std::vector<SupportRow> rows;                     // best first

    // Place of a layout among buffer_types, or -1.
    int find_layout(const std::string& layout_id) const;

    // A device that is not made of several is its own only member.
    int member_count() const { return members.empty() ? 1 : static_cast<int>(members.size()); }
    const DeviceDescription& member(size_t index) const { return members.empty() ? *this : members[index]; }
};

// Who exchanges: the host between the members' programs or behind the last of them, or the members in theirs.
enum class CollectivePlace { between_programs, inside_programs, behind_programs };

// A point of a program at which the members of a device exchange values, as a plan tells it. Counts of bytes
// are for one row of the exchanged value.
struct CollectiveDescription {
    std::string kind;     // the op's name: "all_reduce"
    std::string after;    // the node whose result is exchanged
    ir::TensorDesc desc;  // of that result, with the rows that the program has room for
    std::string way;      // how it is done: "butterfly"
    CollectivePlace place = CollectivePlace::between_programs;
    int32_t rounds = 0;   // one after the other; in each the members wait for each other
    int64_t payload = 0;  // what a member puts in, the largest
    int64_t link = 0;     // through the busiest member's link, one way, summed over the rounds
    int64_t moved = 0;    // between members, all together
    int64_t scratch = 0;  // of others' values that one member keeps at the same time
    bool operator==(const CollectiveDescription&) const = default;
};

struct OperandDesc {
    ir::ValueKind kind = ir::ValueKind::activation;
    ir::TensorDesc desc;
    std::string layout = kRowLayout;  // weights only
};

struct OpDesc {
    ir::OpId op = 0;
    std::vector<OperandDesc> inputs;
};

// The node's op with every weight operand in the layout that `layout_of(weight index)` names.
template <class LayoutOf>
OpDesc describe_op(const ir::Graph& graph, const ir::Node& node, LayoutOf layout_of) {
    OpDesc desc{ir::op_id(node.op), {}};
    for (ir::ValueId id : node.inputs) {
        const ir::Value& value = graph.value(id);
        const bool is_weight = value.kind == ir::ValueKind::weight;
        desc.inputs.push_back({value.kind, value.desc, is_weight ? layout_of(value.index) : kRowLayout});
    }
    return desc;
}

struct Support {
    int row = -1;     // the first row that fits
    std::string why;  // when none does: a sentence without the device's name
    explicit operator bool() const { return row >= 0; }
};

// Looks the op up in the rows. Views and host actions need no kernel: callers do not ask about them.
Support supports(const DeviceDescription& device, const OpDesc& op);

// The row with which a device runs a node whose weights lie in the given layouts (indices into buffer_types,
// by weight). Throws Error naming device, node and reason when there is none.
int supporting_row(const DeviceDescription& device, const ir::Graph& graph, const ir::Node& node,
                   std::span<const int> layouts);

}  // namespace plait::device
