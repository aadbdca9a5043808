# The kernels: CPU_SIMD_SOURCES for the room's SOURCES, CPU_SIMD_TESTS for its TESTS, and the instruction-set flags,
# which touch exactly the kernels_<isa>.cpp files. To be included before plait_room(). Needs LINK fmt::fmt.
set(CPU_SIMD_SOURCES simd/kernels_scalar.cpp simd/pack_x8.cpp simd/select.cpp)
set(CPU_SIMD_TESTS simd/attention_test.cpp simd/matmul_test.cpp simd/pack_x8_test.cpp simd/rows_test.cpp simd/select_test.cpp)

# Scalar is what it says, also where the compiler would know better.
set_source_files_properties(simd/kernels_scalar.cpp PROPERTIES COMPILE_OPTIONS
                            "-fno-tree-vectorize;-fno-tree-slp-vectorize")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "riscv64")
    # Vector types of a fixed length: clang 17, GCC 14.
    include(CheckCXXCompilerFlag)
    check_cxx_compiler_flag("-march=rv64gcv_zvl128b -mrvv-vector-bits=zvl" PLAIT_HAS_RVV)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND CPU_SIMD_SOURCES simd/levels_x86.cpp simd/kernels_sse4.cpp simd/kernels_avx2.cpp
                                 simd/kernels_avxvnni.cpp simd/kernels_avx512vnni.cpp simd/kernels_amx.cpp)
    list(APPEND CPU_SIMD_TESTS simd/kernels_amx_model.cpp simd/tiles_test.cpp)
    set_source_files_properties(simd/kernels_sse4.cpp PROPERTIES COMPILE_OPTIONS "-mssse3;-msse4.1")
    set(avx2 -mavx2 -mfma -mf16c)
    set_source_files_properties(simd/kernels_avx2.cpp PROPERTIES COMPILE_OPTIONS "${avx2}")
    set_source_files_properties(simd/kernels_avxvnni.cpp PROPERTIES COMPILE_OPTIONS "${avx2};-mavxvnni")
    # GCC 12 warns of its own _mm512_undefined_*() (GCC bug 105593).
    set(avx512vnni ${avx2} -mavx512bw -mavx512vl -mavx512vnni -Wno-maybe-uninitialized -Wno-uninitialized)
    set_source_files_properties(simd/kernels_avx512vnni.cpp simd/kernels_amx_model.cpp PROPERTIES COMPILE_OPTIONS "${avx512vnni}")
    # Their instructions in software, for the tests of machines without them. GCC notes that 512 bits are passed in memory.
    set(CPU_SIMDE_TESTS simd/levels_simde.cpp simd/kernels_avxvnni_simde.cpp simd/kernels_avx512vnni_simde.cpp)
    set_source_files_properties(simd/kernels_avxvnni_simde.cpp simd/kernels_avx512vnni_simde.cpp PROPERTIES COMPILE_OPTIONS
                                "${avx2};-O1;-Wno-psabi;-Wno-unused-function")
    set_source_files_properties(simd/kernels_amx.cpp PROPERTIES COMPILE_OPTIONS "${avx512vnni};-mamx-tile;-mamx-int8")
    set(CPU_SIMD_FLAGGED kernels_sse4 kernels_avx2 kernels_avxvnni kernels_avx512vnni kernels_amx kernels_amx_model)
    set(CPU_SIMD_FLAGGED_TESTS $<TARGET_OBJECTS:backends_cpu_test>)  # the model
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(APPEND CPU_SIMD_SOURCES simd/levels_arm.cpp simd/kernels_neon.cpp simd/kernels_dotprod.cpp
                                 simd/kernels_i8mm.cpp simd/kernels_sve128.cpp simd/kernels_sve256.cpp)
    set_source_files_properties(simd/kernels_dotprod.cpp PROPERTIES COMPILE_OPTIONS -march=armv8.2-a+dotprod)
    set_source_files_properties(simd/kernels_i8mm.cpp PROPERTIES COMPILE_OPTIONS -march=armv8.2-a+dotprod+i8mm)
    foreach(bits 128 256)
        set_source_files_properties(simd/kernels_sve${bits}.cpp PROPERTIES COMPILE_OPTIONS
                                    "-march=armv8.2-a+sve+i8mm;-msve-vector-bits=${bits}")
    endforeach()
    set(CPU_SIMD_FLAGGED kernels_neon kernels_dotprod kernels_i8mm kernels_sve128 kernels_sve256)
elseif(PLAIT_HAS_RVV)
    list(APPEND CPU_SIMD_SOURCES simd/levels_riscv.cpp simd/kernels_rvv128.cpp simd/kernels_rvv256.cpp)
    foreach(bits 128 256)
        set_source_files_properties(simd/kernels_rvv${bits}.cpp PROPERTIES COMPILE_OPTIONS
                                    "-march=rv64gcv_zvl${bits}b;-mrvv-vector-bits=zvl")
    endforeach()
    set(CPU_SIMD_FLAGGED kernels_rvv128 kernels_rvv256)
else()
    list(APPEND CPU_SIMD_SOURCES simd/levels_portable.cpp)
endif()

if(PLAIT_TESTS AND CPU_SIMD_FLAGGED)
    # A weak symbol in one of these objects could become everybody's copy of an inline function.
    add_test(NAME backends_cpu.weak_symbols
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/check_weak_symbols.py ${CMAKE_NM} ${CPU_SIMD_FLAGGED} --
                     $<TARGET_OBJECTS:plait_backends_cpu> ${CPU_SIMD_FLAGGED_TESTS}
             COMMAND_EXPAND_LISTS)
endif()
