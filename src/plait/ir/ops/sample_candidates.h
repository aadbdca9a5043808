#pragma once

#include "plait/choice/slice.h"
#include "plait/ir/op.h"

namespace plait::ir {

// What is needed of a row of logits to choose the next token, so that nobody has to read the row: for each
// row the answer (choice/slice.h) to what the step asks of it (StepView::choices), with room for `count`
// candidates. (logits F32 [outputs, n]) -> I32 [outputs, count's answer_values()]. The logits may be a part
// of the vocabulary's, [vocab_begin, vocab_begin + n); then they answer for that slice.
struct SampleCandidates {
    int64_t count = 0;
    int64_t vocab_begin = 0;
    bool operator==(const SampleCandidates&) const = default;
    static const Descriptor<SampleCandidates>& descriptor();

    int64_t answer_values() const {
        return choice::slice_bytes(count) / static_cast<int64_t>(sizeof(int32_t));
    }
    // Where a row's answer lies in the output.
    choice::Slice answer(const Operand& output, int64_t row) const { return {output.row(row), count}; }
};

}  // namespace plait::ir
