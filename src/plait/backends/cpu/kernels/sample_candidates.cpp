#include <algorithm>
#include <array>

#include "plait/backends/cpu/kernel.h"
#include "plait/choice/selection.h"
#include "plait/choice/slice.h"

// Answers to what is asked of rows of logits. A row is cut into pieces of the vocabulary when there are fewer
// rows than workers; who finishes a row's last piece joins its answers.
namespace plait::backends::cpu {
namespace {

using ir::SampleCandidates;

constexpr int64_t kSmallestPiece = 8192;  // ids; less is done sooner than shared
constexpr int64_t kMostPieces = 64;

// How this step's rows are cut.
struct Pieces {
    explicit Pieces(const KernelCall& call)
        : rows(call.operands.rows(call.in(0))), ids(call.in(0).desc.shape[1]) {
        const int64_t shared = ceil_div(call.workers, std::max<int64_t>(1, rows));
        count = std::clamp<int64_t>(std::min(shared, ids / kSmallestPiece), 1, kMostPieces);
    }
    int64_t begin(int64_t piece) const { return ids * piece / count; }

    int64_t rows;
    int64_t ids;
    int64_t count;  // of a row
};

// Pieces are shared by rows fewer than workers, so that there are at most so many.
int64_t most_shared(int64_t workers) { return 2 * workers; }

SharedNeeds sampling_shared(const ir::Op& op, std::span<const ir::TensorDesc> inputs,
                            std::span<const ir::StepGroupLimits> /*groups*/, int32_t workers) {
    const int64_t count = std::get<SampleCandidates>(op).count;
    return {.bytes = most_shared(workers) * choice::slice_bytes(count), .counters = inputs[0].shape[0]};
}

int64_t sampling_workspace(const ir::Op& op, std::span<const ir::TensorDesc> /*inputs*/) {
    return static_cast<int64_t>(choice::Selection::room_for(std::get<SampleCandidates>(op).count) *
                                sizeof(choice::Candidate));
}

int64_t sampling_items(const KernelCall& call) {
    const Pieces pieces(call);
    return pieces.rows * pieces.count;
}

void answer_piece(const KernelCall& call, const Pieces& pieces, int64_t row, int64_t piece,
                  std::byte* workspace, choice::Slice to) {
    const auto& op = call.as<SampleCandidates>();
    const float* logits = reinterpret_cast<const float*>(call.in(0).row(row));
    const int64_t begin = pieces.begin(piece), end = pieces.begin(piece + 1);
    const std::span room(reinterpret_cast<choice::Candidate*>(workspace),
                         choice::Selection::room_for(op.count));
    choice::answer(call.step().choices.ask(row), call.step().choices.changes(row),
                   {logits + begin, static_cast<size_t>(end - begin)},
                   static_cast<int32_t>(op.vocab_begin + begin), room, to);
}

void join_pieces(const KernelCall& call, const Pieces& pieces, int64_t row,
                 std::span<const choice::Slice> answers) {
    const choice::Ask ask = call.step().choices.ask(row);
    const choice::Slice to = call.as<SampleCandidates>().answer(call.out(), row);
    choice::join(answers, ask.top, to);
    choice::SliceHead& head = to.head();
    if (head.broken == 0)
        head.complete = static_cast<int32_t>(choice::is_complete(head.found, ask.top, pieces.ids));
}

void run_sampling(const KernelCall& call, int64_t item, std::byte* workspace) {
    const auto& op = call.as<SampleCandidates>();
    const Pieces pieces(call);
    const int64_t row = item / pieces.count, piece = item % pieces.count;
    if (pieces.count == 1) return answer_piece(call, pieces, row, 0, workspace, op.answer(call.out(), row));
    const auto answer_at = [&](int64_t index) {
        return choice::Slice(call.shared.data() + index * choice::slice_bytes(op.count), op.count);
    };
    answer_piece(call, pieces, row, piece, workspace, answer_at(item));
    // Who comes last sees what the others wrote.
    std::atomic<int32_t>& arrived = call.counters[static_cast<size_t>(row)];
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != pieces.count) return;
    std::array<choice::Slice, kMostPieces> answers;
    for (int64_t i = 0; i < pieces.count; ++i)
        answers[static_cast<size_t>(i)] = answer_at(row * pieces.count + i);
    join_pieces(call, pieces, row, std::span(answers).first(static_cast<size_t>(pieces.count)));
}

}  // namespace

void add_sampling_kernels(std::vector<Kernel>& list) {
    list.push_back({.support = {.op = ir::op_id_of<SampleCandidates>()},
                    .items = sampling_items,
                    .run = run_sampling,
                    .workspace_bytes = sampling_workspace,
                    .shared = sampling_shared});
}

}  // namespace plait::backends::cpu
