#include "plait/dtype/bf16.h"

#include <algorithm>
#include <cmath>

#include "plait/dtype/half.h"

namespace plait::dtype {

void decode_bf16(const void* elements, float* values, int64_t n) {
    const auto* stored = static_cast<const uint16_t*>(elements);
    for (int64_t i = 0; i < n; ++i) values[i] = bf16_to_f32(stored[i]);
}

void encode_bf16(const float* values, void* elements, int64_t n) {
    auto* stored = static_cast<uint16_t*>(elements);
    for (int64_t i = 0; i < n; ++i) {
        const float value = values[i];
        stored[i] = f32_to_bf16(std::isfinite(value) ? std::clamp(value, -kMaxBF16, kMaxBF16) : value);
    }
}

}  // namespace plait::dtype
