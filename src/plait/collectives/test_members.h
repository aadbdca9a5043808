#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plait/collectives/lower.h"
#include "plait/ir/layout.h"
#include "plait/ir/test_support.h"

// Runs the graphs of several members side by side with the ops' reference kernels, for tests: what they mean,
// without any device. Linked by tests only (plait_test_members).
namespace plait::collectives::test {

using ir::test::TestStep;
using ir::test::TestTensor;

// What a member stores of a tensor.
TestTensor stored_part(const TestTensor& whole, const ir::Layout& layout, int member);

class MembersRunner {
  public:
    // A member's bytes of a weight or state value; state changes in place.
    using Source = std::function<std::byte*(int member, const ir::Value& value)>;

    // `rounds` are those of lowered graphs; graphs with collectives need none. All outlive the runner.
    MembersRunner(std::span<const ir::Graph> graphs, std::span<const Round> rounds, Source source);

    // Runs one step. Scratch holds NaN before it.
    void run(const TestStep& step);

    // By member and output, after run().
    const TestTensor& output(int member, size_t index) const;
    // The bytes of any value, for comparing members.
    const TestTensor& value(int member, ir::ValueId id) const;

  private:
    struct Member {
        const ir::Graph* graph = nullptr;
        std::vector<TestTensor> values;  // by ValueId; activations' bytes
        std::vector<std::byte*> data;    // by ValueId
        size_t next = 0;                 // node
    };

    void set_up(int member, const TestStep& step);
    // To the next node that the members run together; nullptr at the end.
    const ir::Node* advance(int member, const TestStep& step);
    void run_node(Member& member, const ir::Node& node, const TestStep& step);
    void meet(std::span<const ir::Node* const> nodes);
    void exchange(std::span<const ir::Node* const> nodes);
    void all_reduce(std::span<const ir::Node* const> nodes, ir::Reduction reduction);
    void all_gather(std::span<const ir::Node* const> nodes, const ir::AllGather& op);

    Source source_;
    std::span<const Round> rounds_;
    std::vector<Member> members_;
};

}  // namespace plait::collectives::test
