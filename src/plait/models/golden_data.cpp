#include "plait/models/golden_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plait/ir/test_support.h"

namespace plait::models::test {
namespace {

double root_mean_square(std::span<const float> values) {
    double sum = 0;
    for (float value : values) sum += static_cast<double>(value) * value;
    return std::sqrt(sum / static_cast<double>(values.size()));
}

// Between the best and the second best.
double gap(std::span<const float> values) {
    std::vector<float> sorted(values.begin(), values.end());
    std::ranges::partial_sort(sorted, sorted.begin() + 2, std::greater<>());
    return sorted[0] - sorted[1];
}

}  // namespace

Golden read_golden(const std::filesystem::path& folder, const std::string& name) {
    const std::filesystem::path path = folder / (name + ".json");
    const auto json = nlohmann::json::parse(std::ifstream(path));
    Golden golden;
    golden.model = path.parent_path() / json.at("model").get<std::string>();
    golden.ids = json.at("prompt_tokens").get<std::vector<int32_t>>();
    golden.prompt_tokens = golden.ids.size();
    for (const int32_t id : json.at("greedy_tokens")) golden.ids.push_back(id);
    golden.logits = read_npy(path.parent_path() / json.at("logits").get<std::string>());
    return golden;
}

std::filesystem::path small_golden_folder() {
    return std::filesystem::path(PLAIT_SOURCE_DIR) / "tests/golden";
}

std::filesystem::path full_golden_folder() {
    const char* folder = std::getenv("PLAIT_GOLDEN");
    return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
}

std::string logits_fault(const Golden& golden, std::span<const float> found, double bound) {
    const std::span<const float> expected = golden.logits.values;
    if (found.size() != expected.size())
        return fmt::format("{} logits, expected {}", found.size(), expected.size());
    const double error = ir::test::normalised_error(expected, found);
    if (!(error <= bound)) return fmt::format("NMSE {:.3g}, bound {:.3g}", error, bound);
    for (size_t row = 0; row < golden.ids.size(); ++row) {
        const auto here = found.subspan(row * golden.columns(), golden.columns());
        const double row_error = ir::test::normalised_error(golden.row(row), here);
        if (!(row_error <= 10 * bound))
            return fmt::format("row {}: NMSE {:.3g}, bound {:.3g}", row, row_error, 10 * bound);
    }
    return {};
}

std::string greedy_fault(const Golden& golden, std::span<const float> found, double smallest_gap) {
    for (size_t row = golden.prompt_tokens - 1; row + 1 < golden.ids.size(); ++row) {
        const auto expected = golden.row(row);
        if (gap(expected) < smallest_gap * root_mean_square(expected)) return {};
        const auto logits = found.subspan(row * golden.columns(), golden.columns());
        const auto best = std::ranges::max_element(logits) - logits.begin();
        if (best != golden.ids[row + 1])
            return fmt::format("row {}: id {}, expected {}", row, best, golden.ids[row + 1]);
    }
    return {};
}

}  // namespace plait::models::test
