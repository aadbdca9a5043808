#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/ir/ops/list.h"

// What tests of ops need, here and in the rooms that run ops: tensors that own their bytes, steps built from
// a list of sequences, and a way to run the reference. Everything random comes from a seed and is the same on
// every machine. Linked by tests only (plait_op_cases).
namespace plait::ir::test {

// The bytes are exactly as many as the description asks for, so that a sanitizer sees every over-read.
struct TestTensor {
    TensorDesc desc;
    std::vector<std::byte> bytes;

    // An operand cannot say that it is only read; inputs of a call are.
    Operand operand() const { return {desc, const_cast<std::byte*>(bytes.data())}; }
};

// What weights and what caches can be stored as.
std::vector<DType> weight_types();
std::vector<DType> cache_types();

// Uniform in [-1, 1).
std::vector<float> random_values(int64_t count, uint64_t seed);
std::vector<int32_t> random_ids(int64_t count, int32_t below, uint64_t seed);

// A tensor of the given values, or of random ones, encoded row by row; rows are padded with zeros to whole
// blocks. A format that does not encode takes no values, and has random blocks.
TestTensor make_tensor(const TensorDesc& desc, std::span<const float> values);
TestTensor make_tensor(const TensorDesc& desc, uint64_t seed);
TestTensor make_ids(const TensorDesc& desc, std::span<const int32_t> ids);
// Every byte kPoison: what nobody may write keeps it.
TestTensor make_poisoned(const TensorDesc& desc);
inline constexpr std::byte kPoison{0xA5};

// Indices [begin, begin + count) of one axis; of the innermost, unless the format has blocks.
TestTensor part_of(const TestTensor& tensor, int axis, int64_t begin, int64_t count);

// The values a tensor names, without padding.
std::vector<float> values_of(const TestTensor& tensor);
std::vector<int32_t> ids_of(const TestTensor& tensor);

struct TestSequence {
    int32_t past = 0;    // tokens its state has before the step
    int32_t tokens = 1;  // tokens of this step
};

struct PageCopy {
    int32_t from = 0;
    int32_t to = 0;
};

// What is asked of a row of logits.
struct TestChoice {
    choice::Ask ask;
    std::vector<choice::Change> changes;
};

// One state group. Sequence s has room for max_pages_per_sequence pages, at places drawn from page_seed:
// steps that differ only in their sequences' lengths agree on where a sequence's pages lie.
struct StepSpec {
    Capacity capacity;
    std::vector<TestSequence> sequences;
    int32_t page_tokens = 16;
    int32_t pages = 32;
    int32_t max_pages_per_sequence = 4;
    int32_t window = 0;  // of the group: pages wholly behind what the step's first token sees are not listed
    uint64_t page_seed = 1;
    std::vector<PageCopy> copies;
    std::vector<int32_t> output_rows;  // none given: the last token of each sequence
    int32_t vocabulary = 100;          // token ids are drawn below it
    std::vector<TestChoice> choices;   // by output row
};

// A step that owns its block. What the counts do not cover is filled with a number no index may have.
class TestStep {
  public:
    explicit TestStep(const StepSpec& spec);
    TestStep(const TestStep&) = delete;
    TestStep& operator=(const TestStep&) = delete;

    const StepView& view() const { return view_; }
    const StepLayout& layout() const { return layout_; }
    std::span<const int32_t> block() const { return block_; }

  private:
    void fill_sequences(const StepSpec& spec);
    void fill_outputs(const StepSpec& spec);
    void fill_copies(const StepSpec& spec);
    void fill_choices(const StepSpec& spec);

    StepLayout layout_;
    std::vector<int32_t> block_;
    StepView view_;
};

// `tokens` of `capacity` rows in one sequence, whose last token is wanted.
StepSpec simple_spec(int32_t capacity, int32_t tokens);

// Outputs as a call expects to find them: poisoned, or the former version where the op writes state.
std::vector<TestTensor> make_outputs(const Op& op, std::span<const TestTensor> inputs);
// Runs the op's reference kernel into outputs of its own.
std::vector<TestTensor> run_reference(const Op& op, std::span<const TestTensor> inputs, const TestStep& step);

// How many indices of the outermost axis the step has.
int64_t actual_rows(const TestTensor& tensor, const TestStep& step);
// All rows past the actual ones still hold the poison.
bool rest_is_poisoned(const TestTensor& output, const TestStep& step);

// Sum of squared differences over the sum of expected squares (over 1 where that is 0); infinite if either
// holds a NaN.
double normalised_error(std::span<const float> expected, std::span<const float> actual);

// The sentence with which the op refuses the operands; empty if it takes them.
std::string refusal(const Op& op, std::vector<TensorDesc> inputs);

}  // namespace plait::ir::test
