#include "plait/text/merge_table.h"

#include <bit>

#include "plait/base/ensure.h"

namespace plait::text {
namespace {

uint64_t pair_key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

// The finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

}  // namespace

MergeTable::MergeTable(size_t expected) : slots_(std::bit_ceil(expected * 2 + 2)) {
    merges_.reserve(expected);
}

size_t MergeTable::slot_of(uint64_t pair) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = mix(pair) & mask;
    while (slots_[slot].rank != kNone && slots_[slot].pair != pair) slot = (slot + 1) & mask;
    return slot;
}

void MergeTable::add(Merge merge) {
    ENSURE(merges_.size() * 2 < slots_.size(), "more merges than the table was made for");
    const uint64_t pair = pair_key(merge.left, merge.right);
    Slot& slot = slots_[slot_of(pair)];
    if (slot.rank != kNone) return;
    slot = {pair, static_cast<int32_t>(merges_.size())};
    merges_.push_back(merge);
}

int32_t MergeTable::rank(int32_t left, int32_t right) const {
    return slots_[slot_of(pair_key(left, right))].rank;
}

}  // namespace plait::text
