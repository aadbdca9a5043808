#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plait/base/npy.h"

// Models with the logits that an independent engine computed (tests/golden/README.md). For tests:
// plait_golden_data.
namespace plait::models::test {

struct Golden {
    std::filesystem::path model;
    std::vector<int32_t> ids;  // the prompt, then the greedy continuation
    size_t prompt_tokens = 0;
    NpyArray logits;  // a row for each id

    size_t columns() const { return static_cast<size_t>(logits.shape.at(1)); }
    std::span<const float> row(size_t index) const {
        return std::span(logits.values).subspan(index * columns(), columns());
    }
};

// A model of a set, and how far from its logits (NMSE) they may be that F32 activations give and that the
// default path gives.
struct GoldenModel {
    const char* name;
    double exact_bound;
    double default_bound;
};

// What the repository has, and what else is in the full set.
std::span<const GoldenModel> small_golden_models();
std::span<const GoldenModel> full_golden_models();
// The name as part of a test's: letters, digits and underscores.
std::string test_name(const GoldenModel& model);

// `name` is folder and file without extension: "arch/llama-dense". Throws when it is not there.
Golden read_golden(const std::filesystem::path& folder, const std::string& name);

// The set that is part of the repository.
std::filesystem::path small_golden_folder();
// The full set, where the environment variable PLAIT_GOLDEN names it; else empty.
std::filesystem::path full_golden_folder();

// Empty when `found` may stand for the expected logits: NMSE at most `bound` over all rows and 10 times that
// in each. Otherwise what is wrong.
std::string logits_fault(const Golden& golden, std::span<const float> found, double bound);

// Empty when each row from the prompt's last one on has the expected best id; rows from the first one on
// whose two best expected logits lie closer than `smallest_gap` times the row's root mean square are not
// looked at.
std::string greedy_fault(const Golden& golden, std::span<const float> found, double smallest_gap);

}  // namespace plait::models::test
