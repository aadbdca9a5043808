#include "plait/load/mirrored.h"

#include <algorithm>

namespace plait::load {
namespace {

using Pieces = std::vector<ir::Range>;

// How much of a piece lies in any of the others'. Those are sorted by where they begin.
int64_t covered(const ir::Range& piece, const Pieces& others) {
    int64_t length = 0, reached = piece.begin;
    for (const ir::Range& other : others) {
        const int64_t begin = std::max(other.begin, reached);
        const int64_t end = std::min(other.end, piece.end);
        if (begin >= end) continue;
        length += end - begin;
        reached = end;
    }
    return length;
}

// Of the split axis, what the member stores and another stores too, as a share of what it stores.
int64_t shared_bytes(const std::vector<Pieces>& stored, size_t member, int64_t bytes) {
    Pieces others;
    for (size_t other = 0; other < stored.size(); ++other) {
        if (other != member) others.insert(others.end(), stored[other].begin(), stored[other].end());
    }
    std::ranges::sort(others, {}, &ir::Range::begin);
    int64_t own = 0, shared = 0;
    for (const ir::Range& piece : stored[member]) {
        own += piece.size();
        shared += covered(piece, others);
    }
    return own == 0 ? 0 : bytes * shared / own;
}

}  // namespace

std::vector<int64_t> mirrored_bytes(const device::StoredTensor& tensor, std::span<const int64_t> bytes) {
    std::vector<int64_t> mirrored(bytes.begin(), bytes.end());
    if (!tensor.layout.is(ir::LayoutKind::split)) {
        const auto holders = std::ranges::count_if(bytes, [](int64_t held) { return held > 0; });
        if (holders < 2) std::ranges::fill(mirrored, 0);
        return mirrored;
    }
    std::vector<Pieces> stored(bytes.size());
    for (size_t member = 0; member < bytes.size(); ++member) {
        if (bytes[member] > 0)
            stored[member] = ir::stored_slice(tensor.desc, tensor.layout, static_cast<int>(member)).pieces;
    }
    for (size_t member = 0; member < bytes.size(); ++member)
        mirrored[member] = shared_bytes(stored, member, bytes[member]);
    return mirrored;
}

}  // namespace plait::load
