#pragma once

#include <cstdint>

// Applies a macro to the C++ type of every GGUF scalar: for explicit instantiations.
#define PLAIT_GGUF_FOR_SCALARS(APPLY) \
    APPLY(bool)                       \
    APPLY(uint8_t)                    \
    APPLY(int8_t)                     \
    APPLY(uint16_t)                   \
    APPLY(int16_t)                    \
    APPLY(uint32_t)                   \
    APPLY(int32_t)                    \
    APPLY(uint64_t)                   \
    APPLY(int64_t)                    \
    APPLY(float)                      \
    APPLY(double)
