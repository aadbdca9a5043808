#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plait/models/model.h"
#include "plait/models/test_models.h"

// What tests of graphs look at. For this room's tests.
namespace plait::models::test {

inline constexpr StatePages kPages{.page_tokens = 8, .pages = 5, .max_pages_per_sequence = 4};

// A recipe's model and its graph for 9 tokens, 3 of them with logits, of 2 sequences.
struct Loaded {
    explicit Loaded(const Recipe& recipe, const ModelOptions& options = kOptions)
        : file(recipe), model(load_model(file.file(), options)) {}

    ir::Graph graph(bool taps = false) const {
        const std::vector<StatePages> pages(model->state_groups().size(), kPages);
        return model->build(
            {.capacity = {.tokens = 9, .outputs = 3, .sequences = 2}, .pages = pages, .taps = taps});
    }
    const ir::WeightSpec& weight(std::string_view name) const {
        const auto weights = model->weights();
        return *std::ranges::find(weights, name, &ir::WeightSpec::name);
    }

    RecipeFile file;
    std::unique_ptr<Model> model;
};

inline std::map<std::string, int> ops_of(const ir::Graph& graph) {
    std::map<std::string, int> counts;
    for (const ir::Node& node : graph.nodes()) ++counts[ir::op_name(node.op)];
    return counts;
}

inline std::vector<std::string> node_names(const ir::Graph& graph) {
    std::vector<std::string> names;
    for (const ir::Node& node : graph.nodes()) names.push_back(node.name);
    return names;
}

// Fails the test when there is none.
inline const ir::Node& node(const ir::Graph& graph, std::string_view name) {
    const auto nodes = graph.nodes();
    const auto found = std::ranges::find(nodes, name, &ir::Node::name);
    EXPECT_NE(found, nodes.end()) << name;
    return *found;
}

template <class OpType>
std::string name_of() {
    return OpType::descriptor().name;
}

}  // namespace plait::models::test
