#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/choice/slice.h"

// The data of one step: everything that changes from step to step travels in one block of int32 values with a
// fixed layout, so that a host fills it once and a device receives it with one write.
namespace plait::ir {

// What a program is compiled for: at most so many tokens, rows with logits, and sequences.
struct Capacity {
    int64_t tokens = 1;
    int64_t outputs = 1;
    int64_t sequences = 1;
    int64_t choices =
        0;  // rows of logits to choose a token from (ops/sample_candidates.h): of the first outputs
    bool operator==(const Capacity&) const = default;
};

// The bounds of one state group's page lists.
struct StepGroupLimits {
    int64_t page_tokens = 0;             // tokens per page
    int64_t max_pages_per_sequence = 0;  // pages a sequence may have at once
    bool operator==(const StepGroupLimits&) const = default;
};

// The pages of one sequence: those from page `first` on, which is not 0 once a window has left pages behind.
struct SequencePages {
    std::span<const int32_t> numbers;
    int64_t first = 0;

    // The page that holds positions [index * page_tokens, (index + 1) * page_tokens) of the sequence.
    int32_t at(int64_t index) const { return numbers[static_cast<size_t>(index - first)]; }
    bool contains(int64_t index) const {
        return index >= first && index - first < static_cast<int64_t>(numbers.size());
    }
};

// One state group's part of a step. Sequences are numbered 0.. within the step.
struct StepGroup {
    std::span<int32_t>
        write_slots;             // [tokens] page * page_tokens + offset at which the token's state is stored
    std::span<int32_t> lengths;  // [sequences] tokens of the sequence's state once this step's are written
    std::span<int32_t> page_begin;  // [sequences + 1] where each sequence's pages begin in `pages`
    std::span<int32_t> pages;       // page numbers, sequence after sequence, in order of position
    std::span<int32_t> first_page;  // [sequences] which page of the sequence the first of them is: 0, or more
                                    // once a window has left pages behind
    int32_t* copy_count = nullptr;  // page copies to do before anything is written
    std::span<int32_t> copy_from;   // [sequences]
    std::span<int32_t> copy_to;     // [sequences]

    SequencePages pages_of(size_t sequence) const {
        const auto begin = static_cast<size_t>(page_begin[sequence]);
        const auto end = static_cast<size_t>(page_begin[sequence + 1]);
        return {pages.subspan(begin, end - begin), first_page[sequence]};
    }
};

// What is asked of each row of logits, and which logits are to be changed first.
class StepChoices {
  public:
    static constexpr int64_t kAskValues = sizeof(choice::Ask) / sizeof(int32_t);
    static constexpr int64_t kChangeValues = sizeof(choice::Change) / sizeof(int32_t);
    static constexpr int64_t kMostChanges = 256;  // of a row, if all rows have as many

    StepChoices() = default;
    // [choices * kAskValues], [choices + 1] and [choices * kMostChanges * kChangeValues] values of the block.
    StepChoices(std::span<int32_t> asks, std::span<int32_t> change_begin, std::span<int32_t> changes)
        : asks_(asks), change_begin_(change_begin), changes_(changes) {}

    // Rows are filled in order, all that the step has; `changes` are sorted by id. False, and nothing is
    // asked of the row, when there is no room for them.
    bool fill(int64_t row, const choice::Ask& ask, std::span<const choice::Change> changes);

    choice::Ask ask(int64_t row) const;
    std::span<const choice::Change> changes(int64_t row) const;
    // How many values at the end of the block mean nothing when `rows` rows are filled.
    int64_t unused_values(int64_t rows) const;

  private:
    std::span<int32_t> asks_;
    std::span<int32_t> change_begin_;  // where each row's changes begin
    std::span<int32_t> changes_;
};

// A view of the block. Spans have the capacity's extents; the counts say how much of them is meant. Rows past
// the counts hold anything and are read by nobody.
struct StepView {
    int32_t* token_count = nullptr;
    int32_t* output_count = nullptr;
    int32_t* sequence_count = nullptr;
    std::span<int32_t> tokens;       // [tokens] vocabulary ids
    std::span<int32_t> positions;    // [tokens] position within the token's sequence
    std::span<int32_t> output_rows;  // [outputs] rows (token indices) whose logits are wanted
    std::span<int32_t> token_begin;  // [sequences + 1] each sequence's tokens are [begin[s], begin[s + 1])
    std::vector<StepGroup> groups;
    StepChoices choices;  // lies behind all else
};

// Where everything lies in the block. A pure function of capacity and groups; equal on every member.
class StepLayout {
  public:
    StepLayout(const Capacity& capacity, std::span<const StepGroupLimits> groups);

    const Capacity& capacity() const { return capacity_; }
    std::span<const StepGroupLimits> groups() const { return groups_; }
    int64_t values() const { return values_; }  // int32 values in the block

    // `block` has values() entries and outlives the view. Allocates; views are made once per slot.
    StepView view(int32_t* block) const;

  private:
    Capacity capacity_;
    std::vector<StepGroupLimits> groups_;
    int64_t values_ = 0;
};

}  // namespace plait::ir
