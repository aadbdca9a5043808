#include "plait/dtype/f32.h"

#include <cstring>

namespace plait::dtype {

void decode_f32(const void* elements, float* values, int64_t n) {
    if (n > 0) std::memcpy(values, elements, static_cast<size_t>(n) * sizeof(float));
}

void encode_f32(const float* values, void* elements, int64_t n) {
    if (n > 0) std::memcpy(elements, values, static_cast<size_t>(n) * sizeof(float));
}

}  // namespace plait::dtype
