#include "plait/backends/cpu/kernels/meetings.h"

#include <algorithm>
#include <numeric>

#include "plait/backends/cpu/kernels/rows.h"
#include "plait/base/ensure.h"

namespace plait::backends::cpu {
namespace {

using collectives::local::Part;

int64_t output_rows(const KernelCall& call) {
    return call.operands.outputs.empty() ? 0 : call.operands.inner_rows(call.out());
}

const float* term_row(const KernelCall& call, int member, int64_t row, int64_t width) {
    return call.meeting->part(member).term + row * width;
}

// `count` values of every member's term from value `begin` on, combined in the members' order.
void combine_terms(const KernelCall& call, ir::Reduction reduction, int64_t begin, int64_t count,
                   float* out) {
    const simd::BinaryFn combine = combine_function(*call.simd, reduction);
    const auto term = [&](int member) { return call.meeting->part(member).term + begin; };
    const float* sum = term(0);
    for (int member = 1; member < call.meeting->group->members(); ++member) {
        combine(sum, term(member), out, count);
        sum = out;
    }
}

// --- all_reduce: an item is a piece of a row, or some short rows

// All terms' pieces, what is added to them and the result lie in a core's first cache.
constexpr int64_t kPieceValues = 1024;
static_assert(kPieceValues % kQuantisedBlock == 0);

int64_t pieces_of_row(int64_t width) { return ceil_div(width, kPieceValues); }
int64_t rows_of_item(int64_t width) { return std::max<int64_t>(1, kPieceValues / width); }

int64_t all_reduce_items(const KernelCall& call) {
    const int64_t width = row_width(call.out());
    return ceil_div(output_rows(call), rows_of_item(width)) * pieces_of_row(width);
}

// The values that an item makes.
ir::Range item_values(const KernelCall& call, int64_t item) {
    const int64_t width = row_width(call.out());
    const int64_t pieces = pieces_of_row(width), together = rows_of_item(width);
    const int64_t row = item / pieces * together, piece = item % pieces;
    if (pieces > 1)
        return {row * width + piece * kPieceValues,
                row * width + std::min(width, (piece + 1) * kPieceValues)};
    return {row * width, std::min(output_rows(call), row + together) * width};
}

void run_all_reduce(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const ir::Range values = item_values(call, item);
    combine_terms(call, call.as<ir::AllReduce>().reduction, values.begin, values.size(),
                  call.out().as<float>() + values.begin);
    const int64_t width = row_width(call.out());
    for (int64_t begin = values.begin; begin < values.end; begin += width)
        call.finish(begin, std::min(width, values.end - begin));
}

void hand_out(const KernelCall& call, const ir::Range& values) {
    const Part& mine = call.meeting->part(call.meeting->member);
    for (int member = 0; member < call.meeting->group->members(); ++member) {
        if (member == call.meeting->member) continue;
        const Part& theirs = call.meeting->part(member);
        for (size_t i = 0; i < mine.results.size(); ++i) {
            if (theirs.results[i].wanted)
                std::copy_n(mine.results[i].values + values.begin, values.size(),
                            theirs.results[i].values + values.begin);
        }
    }
}

// --- the others: an item is a row

void run_all_gather(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const std::vector<int64_t>& extents = call.as<ir::AllGather>().extents;
    float* out = call.out().as<float>() + item * row_width(call.out());
    for (size_t member = 0; member < extents.size(); ++member) {
        if (extents[member] > 0)
            out = std::copy_n(term_row(call, static_cast<int>(member), item, extents[member]),
                              extents[member], out);
    }
}

void run_reduce_scatter(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const auto& op = call.as<ir::ReduceScatter>();
    const auto own = op.extents.begin() + op.member;
    const int64_t before = std::accumulate(op.extents.begin(), own, int64_t{0});
    combine_terms(call, op.reduction, item * row_width(call.in(0)) + before, *own,
                  call.out().as<float>() + item * *own);
}

void run_broadcast(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const int64_t width = row_width(call.out());
    std::copy_n(term_row(call, call.as<ir::Broadcast>().root, item, width), width,
                call.out().as<float>() + item * width);
}

}  // namespace

// A sum leads work on values only: its items are no blocks of rows.
const Kernel& meeting_kernel(const ir::Op& op) {
    static const Kernel all_reduce{
        .items = all_reduce_items, .run = run_all_reduce, .finishes = true, .can_lead = true};
    static const Kernel all_gather{.items = output_rows, .run = run_all_gather};
    static const Kernel reduce_scatter{.items = output_rows, .run = run_reduce_scatter};
    static const Kernel broadcast{.items = output_rows, .run = run_broadcast};
    if (std::holds_alternative<ir::AllReduce>(op)) return all_reduce;
    if (std::holds_alternative<ir::AllGather>(op)) return all_gather;
    if (std::holds_alternative<ir::ReduceScatter>(op)) return reduce_scatter;
    ENSURE(std::holds_alternative<ir::Broadcast>(op), "comparisons are made between segments");
    return broadcast;
}

std::span<const ir::OpId> meeting_ops() {
    static const ir::OpId ops[] = {ir::op_id_of<ir::AllReduce>(), ir::op_id_of<ir::AllGather>(),
                                   ir::op_id_of<ir::ReduceScatter>(), ir::op_id_of<ir::Broadcast>()};
    return ops;
}

bool is_dealt(const KernelCall& call) {
    if (!std::holds_alternative<ir::AllReduce>(*call.op)) return false;
    if (*call.step().token_count <= kFewTokens) return false;  // own copies are in use
    const int64_t values = output_rows(call) * row_width(call.out());
    if (values * int64_t{sizeof(float)} < kDealtBytes) return false;
    const size_t made = call.meeting->part(call.meeting->member).results.size();
    for (int member = 0; member < call.meeting->group->members(); ++member)
        if (call.meeting->part(member).results.size() != made) return false;
    return true;
}

void run_slice(const KernelCall& call, int slice, int slices) {
    const int64_t items = all_reduce_items(call);
    for (int64_t item = items * slice / slices; item < items * (slice + 1) / slices; ++item) {
        run_all_reduce(call, item, nullptr);
        hand_out(call, item_values(call, item));
    }
}

}  // namespace plait::backends::cpu
