#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/ir/tensor.h"

// How one tensor lies over the members of a device that is made of several. Members are numbered 0 .. N - 1.
namespace plait::ir {

// A half-open stretch of indices.
struct Range {
    int64_t begin = 0;
    int64_t end = 0;

    int64_t size() const { return end - begin; }
    bool empty() const { return begin >= end; }
    bool operator==(const Range&) const = default;
};

// What of it lies in `within`, counted from the latter's beginning; {0, 0} for nothing.
Range intersect(const Range& range, const Range& within);

// A stretch of the split axis with a meaning of its own, such as the queries in a fused [Q | K | V] weight.
struct Segment {
    int64_t extent = 0;
    std::vector<Range> ranges;  // by member, counted from the segment's beginning; may be empty or overlap

    // Nothing is nothing, wherever it begins.
    bool operator==(const Segment& other) const;
};

enum class LayoutKind : uint8_t {
    mirrored,  // every member holds the whole value, the same bits among members of equal kernel signature
    split,     // every member holds its ranges of one axis, segment after segment
    partial,   // every member holds a term of the full shape; the value is the sum of the terms
    routed,    // every member holds the full shape; rows of experts that it does not have are zero, and no
               // expert belongs to two
};

const char* layout_kind_name(LayoutKind kind);

struct Layout {
    LayoutKind kind = LayoutKind::mirrored;
    int axis = 0;                   // of `split`
    std::vector<Segment> segments;  // of `split`; of experts where it is `routed`

    static Layout mirrored() { return {}; }
    static Layout partial() { return {.kind = LayoutKind::partial}; }
    static Layout routed(std::vector<Segment> experts) {
        return {.kind = LayoutKind::routed, .segments = std::move(experts)};
    }
    static Layout split(int axis, std::vector<Segment> segments) {
        return {.kind = LayoutKind::split, .axis = axis, .segments = std::move(segments)};
    }
    // One segment over the whole axis.
    static Layout split(int axis, int64_t extent, std::vector<Range> ranges);

    bool is(LayoutKind wanted) const { return kind == wanted; }
    // Of the whole axis, and of the member's pieces together.
    int64_t extent() const;
    int64_t extent_of(int member) const;
    // The member's pieces as stretches of the whole axis, in order, empty ones too.
    std::vector<Range> pieces(int member) const;
    // No index belongs to two members.
    bool disjoint() const;
    // The axis is the members' pieces, one member after the other.
    bool joins_in_order() const;

    bool operator==(const Layout&) const = default;
    std::string text() const;  // "mirrored", "split on axis 1 as 2 + 3 + 3"
};

// The split layout with every index of the axis standing for `factor` of them (heads as features), and the
// other way round. divide() ENSUREs that nothing is torn; can_divide() asks.
Layout multiply(const Layout& layout, int axis, int64_t factor);
Layout divide(const Layout& layout, int axis, int64_t factor);
bool can_divide(const Layout& layout, int64_t factor);

// The shape of what a member holds, blocks at the borders not counted.
TensorDesc member_desc(const TensorDesc& whole, const Layout& layout, int member);

// What a member stores of a tensor whose innermost axis is cut: formats have blocks, and of a block that a
// border goes through both neighbours store the whole, with `before` and `after` foreign elements around
// their own. Other tensors are stored as they are cut.
struct StoredSlice {
    std::vector<Range> pieces;  // of the axis, widened to blocks
    int64_t before = 0;
    int64_t after = 0;
};
// ENSUREs that only a layout of one segment has borders inside blocks.
StoredSlice stored_slice(const TensorDesc& whole, const Layout& layout, int member);
// member_desc of that.
TensorDesc stored_desc(const TensorDesc& whole, const Layout& layout, int member);

}  // namespace plait::ir
