#include "plait/tools/products.h"

#include <algorithm>
#include <functional>

namespace plait::tools {
namespace {

bool in_layers(const ir::WeightSpec& weight) {
    return weight.role() != ir::Role::vocabulary && weight.role() != ir::Role::tied_embedding;
}

// For one token.
double operations(const std::vector<ProductKind>& kinds) {
    double sum = 0;
    for (const ProductKind& kind : kinds) sum += 2 * static_cast<double>(kind.weights_per_token);
    return sum;
}

double rate_of(const std::vector<ProductKind>& kinds, double device::ProductSpeed::*speed) {
    double seconds = 0;
    for (const ProductKind& kind : kinds)
        seconds += 2 * static_cast<double>(kind.weights_per_token) / (kind.best().*speed);
    return operations(kinds) / seconds;
}

}  // namespace

device::ProductSpeed ProductKind::best() const {
    return {.instructions_one = std::max(before.instructions_one, after.instructions_one),
            .instructions = std::max(before.instructions, after.instructions),
            .kernel = std::max(before.kernel, after.kernel)};
}

double ProductKind::share_of_instructions() const { return best().kernel / best().instructions; }

bool ProductReport::contradicts_itself() const {
    constexpr double kMost = 1.02;  // two measurements of the same
    const auto above = [](const ProductKind& kind) { return kind.share_of_instructions() > kMost; };
    return !kinds.empty() && (share_of_kernels() > kMost || std::ranges::any_of(kinds, above));
}

double ProductReport::kernels() const { return rate_of(kinds, &device::ProductSpeed::kernel); }

double ProductReport::instructions() const { return rate_of(kinds, &device::ProductSpeed::instructions); }

ProductTest::ProductTest(const engine::Prepared& prepared) : device_(*prepared.device) {
    const ir::Graph graph = prepared.model->build({.capacity = {1, 1, 1}, .pages = prepared.pages});
    for (const ir::Node& node : graph.nodes()) {
        const bool experts = std::holds_alternative<ir::MatmulExperts>(node.op);
        if (!experts && !std::holds_alternative<ir::Matmul>(node.op)) continue;
        const ir::Value& weight = graph.value(node.inputs[1]);
        const auto index = static_cast<size_t>(weight.index);
        if (!in_layers(prepared.model->weights()[index])) continue;
        const ir::Shape& shape = weight.desc.shape;
        const ir::TensorDesc matrix{weight.desc.type, {shape[shape.rank() - 2], shape.last()}};
        add(matrix, prepared.layouts[index], experts ? graph.value(node.inputs[2]).desc.shape[1] : 1);
    }
}

void ProductTest::add(const ir::TensorDesc& matrix, int layout, int64_t used) {
    const auto same = [&](const Tested& tested) {
        return tested.largest.type == matrix.type && tested.layout == layout;
    };
    auto tested = std::ranges::find_if(tested_, same);
    if (tested == tested_.end())
        tested = tested_.insert(tested, {matrix, layout, {.type = dtype::info(matrix.type).name}});
    if (matrix.bytes() > tested->largest.bytes()) tested->largest = matrix;
    tested->kind.weights_per_token += used * matrix.shape.elements();
}

// All kinds, or none.
void ProductTest::measure(device::ProductSpeed ProductKind::*when) {
    for (Tested& tested : tested_) {
        const auto speed = device_.measure_product(tested.largest, tested.layout);
        if (!speed) {
            tested_.clear();
            return;
        }
        tested.kind.*when = *speed;
    }
}

ProductReport ProductTest::report(double tokens_per_second) const {
    ProductReport report;
    for (const Tested& tested : tested_) report.kinds.push_back(tested.kind);
    std::ranges::stable_sort(report.kinds, std::greater{}, &ProductKind::weights_per_token);
    report.rate = tokens_per_second * operations(report.kinds);
    return report;
}

}  // namespace plait::tools
