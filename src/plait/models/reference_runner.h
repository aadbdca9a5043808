#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/gguf/file.h"
#include "plait/ir/step.h"
#include "plait/models/model.h"

namespace plait::models::test {

struct ReferenceOptions {
    int64_t step_tokens = 16;  // the capacity: more are fed in several steps
    int64_t page_tokens = 8;
    int64_t context = 64;
    bool taps = false;
};

// Runs a model's graph node by node with the ops' reference kernels, for one sequence: what a model computes,
// without any device. Pages lie in reverse order, and everything that nobody may read is filled with NaN or
// with impossible indices.
class ReferenceRunner {
  public:
    // `model` and `file` outlive the runner.
    ReferenceRunner(const Model& model, const gguf::File& file, const ReferenceOptions& options);

    // Appends `ids` to the sequence; returns the logits of each, [ids, vocabulary].
    std::vector<float> feed(std::span<const int32_t> ids);

    const ir::Graph& graph() const { return graph_; }

  private:
    std::byte* allocate(int64_t bytes);
    std::byte* source_data(const ir::Value& value, const Model& model, const gguf::File& file);
    std::byte* output_data(const ir::Node& node, size_t output);
    ir::Operand operand(ir::ValueId id) const;
    void write_step(std::span<const int32_t> ids);
    void write_pages(ir::StepGroup& group, int64_t count);
    void run_node(const ir::Node& node);
    void run_step(std::span<const int32_t> ids, std::vector<float>& logits);

    ReferenceOptions options_;
    int64_t pages_;
    ir::Graph graph_;
    ir::StepLayout layout_;
    std::vector<int32_t> block_;
    ir::StepView step_;
    std::vector<std::vector<std::byte>> buffers_;
    std::vector<std::byte*> data_;  // by ValueId
    int64_t length_ = 0;            // of the sequence
};

}  // namespace plait::models::test
