#pragma once

#include "plait/backends/cpu/simd/kernel_table.h"
#include "plait/device/describe.h"

// The SIMD kernels of one kind by weight or cache format.
namespace plait::backends::cpu {

// nullptr where there is none.
template <class Fn>
Fn by_format(const simd::PerFormat<Fn>& functions, ir::DType type) {
    return functions.of[static_cast<size_t>(type)];
}

// The formats that have one.
template <class Fn>
device::FormatSet formats_of(const simd::PerFormat<Fn>& functions) {
    device::FormatSet formats = 0;
    for (const dtype::DTypeInfo& row : dtype::table())
        if (by_format(functions, row.type) != nullptr) formats |= device::format_bit(row.type);
    return formats;
}

}  // namespace plait::backends::cpu
