# What takes the place of dependencies.cmake and of the list of rooms where PLAIT_KERNELS_ONLY is set: the CPU's kernels
# with their tests and what those need, for another architecture than this machine's (scripts/cross_test.sh). No library
# has to be there for that architecture: fmt is used as headers, and Debian has GoogleTest's sources.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_path(GOOGLETEST_SOURCES CMakeLists.txt PATHS /usr/src/googletest REQUIRED NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)

add_library(fmt::fmt INTERFACE IMPORTED)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

enable_testing()
include(GoogleTest)
add_subdirectory(${GOOGLETEST_SOURCES} googletest EXCLUDE_FROM_ALL SYSTEM)

add_subdirectory(src/plait/base)
set(PLAIT_TESTS OFF)  # its tests need more libraries
add_subdirectory(src/plait/dtype)
set(PLAIT_TESTS ON)
add_subdirectory(src/plait/backends/cpu)
