#include "plait/models/golden_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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

constexpr double kExact = 1e-10;
constexpr double kHalves = 1e-5;  // by default: F16 weights or a cache in F16
constexpr double kUpperHalves = 1e-4;
constexpr double kBlocks = 1e-3;
// The independent engine reads GELU from a table of halves here.
constexpr double kTableOfHalves = 1e-6;

constexpr GoldenModel kSmallModels[] = {
    {"arch/llama-dense", kExact, kHalves},     {"arch/gpt2-dense", kTableOfHalves, kHalves},
    {"arch/command-r-dense", kExact, kHalves}, {"arch/gemma2-dense", kExact, kHalves},
    {"arch/gpt-oss-moe", kExact, kHalves},     {"arch/gptneox-dense", kExact, kHalves},
    {"arch/granite-dense", kExact, kHalves},   {"arch/mpt-dense", kExact, kHalves},
    {"arch/phi3-long", kExact, kHalves},       {"arch/qwen2moe-moe", kExact, kHalves},
    {"arch/smollm3-dense", kExact, kHalves},   {"arch/starcoder2-dense", kExact, kHalves},
    {"quant/Q4_0", kExact, kBlocks},           {"quant/Q4_1", kExact, kBlocks},
    {"quant/Q8_0", kExact, kBlocks},           {"quant/Q2_K", kExact, kBlocks},
    {"quant/Q4_K", kExact, kBlocks},           {"quant/IQ4_XS", kExact, kBlocks},
};

constexpr GoldenModel kFullModels[] = {
    {"arch/llama-moe", kExact, kHalves},
    {"arch/olmoe-moe", kExact, kHalves},
    {"arch/phi3-dense", kExact, kHalves},
    {"arch/qwen2-dense", kExact, kHalves},
    {"arch/qwen3-dense", kExact, kHalves},
    {"arch/qwen3moe-moe", kExact, kHalves},
    {"arch/gemma3-dense", kTableOfHalves, kHalves},
    {"quant/F16", kExact, kHalves},
    {"quant/BF16", kExact, kUpperHalves},
    {"quant/Q4_0-wide", kExact, kBlocks},
    {"quant/Q4_K-wide", kExact, kBlocks},
    {"quant/Q6_K-wide", kExact, kBlocks},
    {"quant/Q5_0", kExact, kBlocks},
    {"quant/Q5_1", kExact, kBlocks},
    {"quant/Q3_K", kExact, kBlocks},
    {"quant/Q5_K", kExact, kBlocks},
    {"quant/Q6_K", kExact, kBlocks},
    {"quant/IQ4_NL", kExact, kBlocks},
    {"quant/IQ3_S", kExact, kBlocks},
    {"quant/TQ1_0", kExact, kBlocks},
    {"quant/TQ2_0", kExact, kBlocks},
    {"quant/MXFP4", kExact, kBlocks},
};

}  // namespace

std::span<const GoldenModel> small_golden_models() { return kSmallModels; }
std::span<const GoldenModel> full_golden_models() { return kFullModels; }

std::string test_name(const GoldenModel& model) {
    std::string name = model.name;
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

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
