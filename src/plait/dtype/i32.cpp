#include "plait/dtype/i32.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plait::dtype {

void decode_i32(const void* elements, float* values, int64_t n) {
    const auto* stored = static_cast<const int32_t*>(elements);
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<float>(stored[i]);
}

void encode_i32(const float* values, void* elements, int64_t n) {
    using Limits = std::numeric_limits<int32_t>;
    auto* stored = static_cast<int32_t*>(elements);
    for (int64_t i = 0; i < n; ++i) {
        const double value = std::isnan(values[i]) ? 0.0 : static_cast<double>(values[i]);
        const double limited = std::clamp<double>(value, Limits::min(), Limits::max());
        stored[i] = static_cast<int32_t>(std::nearbyint(limited));
    }
}

}  // namespace plait::dtype
