#pragma once

namespace plait::backends::cpu::simd {
namespace {

// Makes a value one that the compiler knows nothing of, in the register where it is.
template <class V>
[[gnu::always_inline]] inline void blur(V& v) {
    if constexpr (requires { v.low, v.high; }) {
        blur(v.low);
        blur(v.high);
    } else if constexpr (__is_class(V)) {
        asm("" : "+m"(v));
    } else {
#if defined(SIMDE_VERSION)
        asm("" : "+m"(v));  // a vector may be wider than registers are
#elif defined(__x86_64__)
        asm("" : "+v"(v));
#elif defined(__aarch64__)
        asm("" : "+w"(v));
#elif defined(__riscv_vector)
        asm("" : "+vr"(v));
#else
        asm("" : "+m"(v));
#endif
    }
}

}  // namespace
}  // namespace plait::backends::cpu::simd
