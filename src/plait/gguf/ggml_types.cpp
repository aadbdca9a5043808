#include "plait/gguf/ggml_types.h"

#include <array>

namespace plait::gguf {
namespace {

// By number. Empty: taken out of ggml again, or never given.
constexpr auto kNames = std::to_array<std::string_view>({
    "F32",   "F16",    "Q4_0",  "Q4_1", "",     "",        "Q5_0",   "Q5_1",    "Q8_0",  "Q8_1",   "Q2_K",
    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S",
    "IQ2_S", "IQ4_XS", "I8",    "I16",  "I32",  "I64",     "F64",    "IQ1_M",   "BF16",  "",       "",
    "",      "TQ1_0",  "TQ2_0", "",     "",     "",        "MXFP4",  "NVFP4",   "Q1_0",
});
static_assert(kNames[8] == "Q8_0" && kNames[16] == "IQ2_XXS" && kNames[23] == "IQ4_XS" &&
              kNames[30] == "BF16" && kNames[35] == "TQ2_0" && kNames[41] == "Q1_0");

}  // namespace

std::string_view ggml_type_name(uint32_t gguf_id) {
    return gguf_id < kNames.size() ? kNames[gguf_id] : std::string_view();
}

}  // namespace plait::gguf
