// Built with the flags of kernels_avx2.cpp.
#include "plait/backends/cpu/simd/simde-inl.h"
//
#include "plait/backends/cpu/simd/kernels_avxvnni.cpp"
