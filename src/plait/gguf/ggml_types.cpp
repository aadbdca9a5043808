#include "plait/gguf/ggml_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace plait::gguf {
namespace {

// By number. Types that ggml took out again are in kRemoved; empty is what it never gave.
constexpr auto kNames = std::to_array<std::string_view>({
    "F32",   "F16",    "Q4_0",  "Q4_1", "",     "",        "Q5_0",   "Q5_1",    "Q8_0",  "Q8_1",   "Q2_K",
    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S",
    "IQ2_S", "IQ4_XS", "I8",    "I16",  "I32",  "I64",     "F64",    "IQ1_M",   "BF16",  "",       "",
    "",      "TQ1_0",  "TQ2_0", "",     "",     "",        "MXFP4",  "NVFP4",   "Q1_0",
});
static_assert(kNames[8] == "Q8_0" && kNames[16] == "IQ2_XXS" && kNames[23] == "IQ4_XS" &&
              kNames[30] == "BF16" && kNames[35] == "TQ2_0" && kNames[41] == "Q1_0");

// A type that files had for a while. What replaces an interleaved one holds the same numbers in their natural
// order: engines interleave them now while they load.
struct Removed {
    uint32_t id;
    std::string_view name;
    std::string_view replacement;
    bool interleaved;
};
constexpr Removed kRemoved[] = {
    {4, "Q4_2", "Q4_0", false},         {5, "Q4_3", "Q4_1", false},
    {31, "Q4_0_4_4", "Q4_0", true},     {32, "Q4_0_4_8", "Q4_0", true},
    {33, "Q4_0_8_8", "Q4_0", true},     {36, "IQ4_NL_4_4", "IQ4_NL", true},
    {37, "IQ4_NL_4_8", "IQ4_NL", true}, {38, "IQ4_NL_8_8", "IQ4_NL", true},
};

const Removed* find_removed(uint32_t type_id) {
    const auto* found = std::ranges::find(kRemoved, type_id, &Removed::id);
    return found == std::end(kRemoved) ? nullptr : found;
}

std::string_view known_name(uint32_t type_id) {
    if (const Removed* removed = find_removed(type_id)) return removed->name;
    return type_id < kNames.size() ? kNames[type_id] : std::string_view();
}

}  // namespace

std::string type_name(uint32_t type_id) {
    const std::string_view name = known_name(type_id);
    return name.empty() ? fmt::format("type {}", type_id) : std::string(name);
}

std::string unsupported_type(uint32_t type_id) {
    const std::string_view name = known_name(type_id);
    if (name.empty())
        return fmt::format(
            "its type is number {}, which Plait does not know; the file may be damaged, or made "
            "by a newer program",
            type_id);
    const std::string type = fmt::format("its type is {} (number {})", name, type_id);
    const Removed* removed = find_removed(type_id);
    if (!removed) return type + ", which Plait does not support";
    if (removed->interleaved)
        return fmt::format(
            "{0}, {1} already arranged for one kind of processor, which files no longer are: "
            "Plait arranges {1} itself while loading; download or quantise the model as {1}",
            type, removed->replacement);
    return fmt::format("{}, which was given up in 2023; download or quantise the model as {}", type,
                       removed->replacement);
}

}  // namespace plait::gguf
