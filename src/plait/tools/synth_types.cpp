#include "plait/tools/synth_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "plait/base/error.h"
#include "plait/base/quote.h"

namespace plait::tools {
namespace {

using dtype::DType;

constexpr SynthType kTypes[] = {
    {"F32", 0, DType::F32, DType::F32},
    {"F16", 1, DType::F16, DType::F16},
    {"BF16", 32, DType::BF16, DType::BF16},
    {"Q4_0", 2, DType::Q4_0, DType::Q4_0},
    {"Q4_1", 3, DType::Q4_1, DType::Q4_1},
    {"Q5_0", 8, DType::Q5_0, DType::Q5_0},
    {"Q5_1", 9, DType::Q5_1, DType::Q5_1},
    {"Q8_0", 7, DType::Q8_0, DType::Q8_0},
    {"Q2_K", 10, DType::Q2_K, DType::Q2_K},
    {"Q3_K", 11, DType::Q3_K, DType::Q3_K},
    {"Q4_K", 14, DType::Q4_K, DType::Q4_K},
    {"Q4_K_M", 15, DType::Q4_K, DType::Q6_K},
    {"Q5_K", 16, DType::Q5_K, DType::Q5_K},
    {"Q5_K_M", 17, DType::Q5_K, DType::Q6_K},
    {"Q6_K", 18, DType::Q6_K, DType::Q6_K},
    {"IQ4_NL", 25, DType::IQ4_NL, DType::IQ4_NL},
    {"IQ4_XS", 30, DType::IQ4_XS, DType::IQ4_XS},
    {"IQ3_S", 26, DType::IQ3_S, DType::IQ3_S},
    {"IQ3_XXS", 23, DType::IQ3_XXS, DType::IQ3_XXS},
    {"IQ2_S", 28, DType::IQ2_S, DType::IQ2_S},
    {"IQ2_XS", 20, DType::IQ2_XS, DType::IQ2_XS},
    {"IQ2_XXS", 19, DType::IQ2_XXS, DType::IQ2_XXS},
    {"IQ1_M", 31, DType::IQ1_M, DType::IQ1_M},
    {"IQ1_S", 24, DType::IQ1_S, DType::IQ1_S},
    {"TQ1_0", 36, DType::TQ1_0, DType::TQ1_0},
    {"TQ2_0", 37, DType::TQ2_0, DType::TQ2_0},
    {"MXFP4", 38, DType::MXFP4, DType::MXFP4},
    {"NVFP4", 39, DType::NVFP4, DType::NVFP4},
};

// What quantisers use instead for rows that are no whole blocks (llama-quant.cpp). Formats without a row have
// nothing.
struct Fallback {
    DType wanted, instead;
};
constexpr Fallback kFallbacks[] = {
    {DType::Q4_K, DType::Q5_0},     {DType::Q5_K, DType::Q5_1},      {DType::Q6_K, DType::Q8_0},
    {DType::IQ4_XS, DType::IQ4_NL}, {DType::Q3_K, DType::IQ4_NL},    {DType::Q2_K, DType::IQ4_NL},
    {DType::IQ3_S, DType::IQ4_NL},  {DType::IQ3_XXS, DType::IQ4_NL}, {DType::IQ2_S, DType::IQ4_NL},
    {DType::IQ2_XS, DType::IQ4_NL}, {DType::IQ2_XXS, DType::IQ4_NL}, {DType::IQ1_M, DType::IQ4_NL},
    {DType::IQ1_S, DType::IQ4_NL},  {DType::TQ1_0, DType::Q4_0},     {DType::TQ2_0, DType::Q4_0},
};

bool same_name(std::string_view a, std::string_view b) {
    const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
    return std::ranges::equal(a, b, {}, upper, upper);
}

// Of the layers the first and last eighth, and every third in between: half of them.
bool is_better_layer(int64_t layer, int64_t layers) {
    const int64_t eighth = layers / 8;
    return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

DType wanted_storage(const SynthType& type, const SynthMatrix& matrix) {
    if (matrix.name == "output.weight") return type.better;
    const bool sensitive = matrix.name == "attn_v.weight" || matrix.name.starts_with("ffn_down");
    return sensitive && is_better_layer(matrix.layer, matrix.layers) ? type.better : type.most;
}

bool whole_blocks(DType type, int64_t columns) { return columns % dtype::info(type).block_elements == 0; }

}  // namespace

const SynthType& find_synth_type(std::string_view name) {
    std::string known;
    for (const SynthType& type : kTypes) {
        if (same_name(type.name, name)) return type;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", type.name);
    }
    throw Error(fmt::format("synth cannot store weights as {}; expected one of {}", quote(name), known));
}

DType synth_storage(const SynthType& type, const SynthMatrix& matrix, std::string_view full_name) {
    const DType wanted = wanted_storage(type, matrix);
    if (whole_blocks(wanted, matrix.columns)) return wanted;
    const auto* fallback = std::ranges::find(kFallbacks, wanted, &Fallback::wanted);
    if (fallback != std::end(kFallbacks) && whole_blocks(fallback->instead, matrix.columns))
        return fallback->instead;
    throw Error(
        fmt::format("{} has rows of {}, which is not a multiple of the {} weights in a block of {}; choose "
                    "another size, or a type without blocks such as F16",
                    full_name, matrix.columns, dtype::info(wanted).block_elements, dtype::info(wanted).name));
}

}  // namespace plait::tools
