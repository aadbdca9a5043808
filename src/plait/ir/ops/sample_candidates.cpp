#include "plait/ir/ops/sample_candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/base/ensure.h"
#include "plait/ir/ops/shard_rules.h"

namespace plait::ir {
namespace {

constexpr const char* kName = "sample_candidates";

std::vector<TensorDesc> infer(const SampleCandidates& op, std::span<const TensorDesc> inputs) {
    ENSURE(op.count >= 1 && op.vocab_begin >= 0, "candidates of a slice");
    expect_input_count(kName, inputs, 1, 1);
    const TensorDesc& logits = inputs[0];
    expect_shape(logits.type == DType::F32 && logits.shape.rank() == 2 && logits.rows == Rows::outputs, kName,
                 "logits as F32 [outputs, n]", logits);
    return {{DType::I32, {logits.shape[0], op.answer_values()}, logits.rows}};
}

// Inserted where it belongs among the best so far, the last of which makes room.
void insert(const choice::Candidate& candidate, int32_t top, choice::Slice to) {
    choice::SliceHead& head = to.head();
    const auto room = to.room();
    const auto listed = to.candidates();
    const auto before = [&](const choice::Candidate& other) { return choice::better(other, candidate); };
    const auto place = static_cast<size_t>(std::ranges::find_if_not(listed, before) - listed.begin());
    if (place == static_cast<size_t>(top)) return;
    if (head.found < top) ++head.found;
    const auto moved = room.subspan(place, static_cast<size_t>(head.found) - place);
    std::ranges::move_backward(moved.first(moved.size() - 1), moved.end());
    room[place] = candidate;
}

// A masked logit answers nothing; false for one that is no number or too large to be one.
bool show(const choice::Ask& ask, const choice::Candidate& candidate, choice::Slice to) {
    if (candidate.logit == -std::numeric_limits<float>::infinity()) return true;
    if (!std::isfinite(candidate.logit)) return false;
    choice::SliceHead& head = to.head();
    if (ask.top > 0) insert(candidate, ask.top, to);
    if (ask.sum != 0) head.sum.add(candidate.logit);
    if (ask.drawn == 0) return true;
    const double value = candidate.logit + ask.temperature * choice::gumbel(ask.key, candidate.id);
    if (!choice::better({candidate.id, value}, head.drawn())) return true;
    head.drawn_id = candidate.id;
    head.drawn_value = value;
    return true;
}

void answer_row(const SampleCandidates& op, const StepChoices& choices, int64_t row,
                std::span<const float> logits, choice::Slice to) {
    const choice::Ask ask = choices.ask(row);
    const auto changes = choices.changes(row);
    to.clear();
    for (size_t i = 0; i < logits.size() && ask.anything(); ++i) {
        const auto id = static_cast<int32_t>(op.vocab_begin + static_cast<int64_t>(i));
        const auto change = std::ranges::find(changes, id, &choice::Change::id);
        const float logit =
            change == changes.end() ? logits[i] : choice::changed(logits[i], *change, ask.penalty);
        if (show(ask, {id, logit}, to)) continue;
        to.refuse();
        return;
    }
    to.head().complete = static_cast<int32_t>(
        choice::is_complete(to.head().found, ask.top, static_cast<int64_t>(logits.size())));
}

void reference(const SampleCandidates& op, const Call& call) {
    const Operand& logits = call.inputs[0];
    const auto width = static_cast<size_t>(logits.desc.shape[1]);
    for (int64_t row = 0; row < call.rows(logits); ++row) {
        answer_row(op, call.step->choices, row, {reinterpret_cast<const float*>(logits.row(row)), width},
                   op.answer(call.outputs[0], row));
    }
}

}  // namespace

const Descriptor<SampleCandidates>& SampleCandidates::descriptor() {
    static const Descriptor<SampleCandidates> descriptor{
        .name = kName, .infer = infer, .reference = reference, .shard = shard};
    return descriptor;
}

}  // namespace plait::ir
