#include "plait/ir/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"

namespace plait::ir {
namespace {

// The same layout with another unit on its axis.
template <class Convert>
Layout converted(const Layout& layout, int axis, Convert convert) {
    ENSURE(layout.is(LayoutKind::split), "only a split axis has units");
    Layout result = layout;
    result.axis = axis;
    for (Segment& segment : result.segments) {
        segment.extent = convert(segment.extent);
        for (Range& range : segment.ranges) range = {convert(range.begin), convert(range.end)};
    }
    return result;
}

bool overlap(const Range& a, const Range& b) {
    return !a.empty() && !b.empty() && a.begin < b.end && b.begin < a.end;
}

std::string sizes_text(const Layout& layout) {
    std::string text;
    const size_t members = layout.segments.empty() ? 0 : layout.segments.front().ranges.size();
    for (size_t member = 0; member < members; ++member)
        text += fmt::format("{}{}", member == 0 ? "" : " + ", layout.extent_of(static_cast<int>(member)));
    return text;
}

}  // namespace

Range intersect(const Range& range, const Range& within) {
    const int64_t begin = std::max(range.begin, within.begin);
    const int64_t end = std::min(range.end, within.end);
    return begin < end ? Range{begin - within.begin, end - within.begin} : Range{};
}

bool Segment::operator==(const Segment& other) const {
    return extent == other.extent &&
           std::ranges::equal(ranges, other.ranges, [](const Range& a, const Range& b) {
               return a == b || (a.empty() && b.empty());
           });
}

const char* layout_kind_name(LayoutKind kind) {
    switch (kind) {
        case LayoutKind::mirrored:
            return "mirrored";
        case LayoutKind::split:
            return "split";
        case LayoutKind::partial:
            return "partial";
        case LayoutKind::routed:
            return "routed by expert";
    }
    return "";
}

Layout Layout::split(int axis, int64_t extent, std::vector<Range> ranges) {
    return split(axis, {{.extent = extent, .ranges = std::move(ranges)}});
}

int64_t Layout::extent() const {
    int64_t sum = 0;
    for (const Segment& segment : segments) sum += segment.extent;
    return sum;
}

int64_t Layout::extent_of(int member) const {
    int64_t sum = 0;
    for (const Segment& segment : segments) sum += segment.ranges[static_cast<size_t>(member)].size();
    return sum;
}

std::vector<Range> Layout::pieces(int member) const {
    std::vector<Range> pieces;
    int64_t begin = 0;
    for (const Segment& segment : segments) {
        const Range& range = segment.ranges[static_cast<size_t>(member)];
        pieces.push_back({begin + range.begin, begin + range.end});
        begin += segment.extent;
    }
    return pieces;
}

bool Layout::disjoint() const {
    for (const Segment& segment : segments) {
        for (size_t a = 0; a < segment.ranges.size(); ++a) {
            for (size_t b = a + 1; b < segment.ranges.size(); ++b) {
                if (overlap(segment.ranges[a], segment.ranges[b])) return false;
            }
        }
    }
    return true;
}

bool Layout::joins_in_order() const {
    if (segments.size() != 1) return false;
    int64_t end = 0;
    for (const Range& range : segments[0].ranges) {
        if (range.empty()) continue;
        if (range.begin != end) return false;
        end = range.end;
    }
    return end == segments[0].extent;
}

std::string Layout::text() const {
    if (!is(LayoutKind::split)) return layout_kind_name(kind);
    return fmt::format("split on axis {} as {}", axis, sizes_text(*this));
}

Layout multiply(const Layout& layout, int axis, int64_t factor) {
    return converted(layout, axis, [&](int64_t index) { return index * factor; });
}

Layout divide(const Layout& layout, int axis, int64_t factor) {
    ENSURE(can_divide(layout, factor), "nothing is torn");
    return converted(layout, axis, [&](int64_t index) { return index / factor; });
}

bool can_divide(const Layout& layout, int64_t factor) {
    return std::ranges::all_of(layout.segments, [&](const Segment& segment) {
        return segment.extent % factor == 0 && std::ranges::all_of(segment.ranges, [&](const Range& range) {
                   return range.begin % factor == 0 && range.end % factor == 0;
               });
    });
}

TensorDesc member_desc(const TensorDesc& whole, const Layout& layout, int member) {
    TensorDesc desc = whole;
    if (layout.is(LayoutKind::split)) desc.shape[layout.axis] = layout.extent_of(member);
    return desc;
}

StoredSlice stored_slice(const TensorDesc& whole, const Layout& layout, int member) {
    StoredSlice slice{.pieces = layout.pieces(member)};
    const int64_t block = dtype::info(whole.type).block_elements;
    if (layout.axis + 1 != whole.shape.rank() || block == 1) return slice;
    for (Range& piece : slice.pieces) {
        if (piece.empty()) continue;
        const Range own = piece;
        piece.begin = own.begin / block * block;
        piece.end = std::min((own.end + block - 1) / block * block, whole.shape.last());
        if (piece == own) continue;
        ENSURE(slice.pieces.size() == 1, "only one segment may be cut inside blocks");
        slice.before = own.begin - piece.begin;
        slice.after = piece.end - own.end;
    }
    return slice;
}

TensorDesc stored_desc(const TensorDesc& whole, const Layout& layout, int member) {
    if (!layout.is(LayoutKind::split)) return whole;
    TensorDesc desc = whole;
    int64_t extent = 0;
    for (const Range& piece : stored_slice(whole, layout, member).pieces) extent += piece.size();
    desc.shape[layout.axis] = extent;
    return desc;
}

}  // namespace plait::ir
