# RISC-V with clang, since the GCC of Debian 12 has no vector intrinsics, and the libraries of Debian's cross compiler
# (g++-riscv64-linux-gnu); programs run in an emulator (qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET riscv64-linux-gnu)
# The linker of Debian 12 crashes on clang's debug information.
set(CMAKE_CXX_FLAGS_INIT -g0)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64 -L /usr/riscv64-linux-gnu)
