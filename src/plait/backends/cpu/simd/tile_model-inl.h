#pragma once

#include <cstdint>

#include "plait/backends/cpu/simd/matmul_q8_x8_tiles-inl.h"
#include "plait/backends/cpu/simd/tile_model.h"

// The tile registers of AMX in plain C++, for machines without them (matmul_q8_x8_tiles-inl.h says what each
// operation is). What the processor would refuse is a fault.
namespace plait::backends::cpu::simd {
namespace {

struct TileModel {
    struct Register {
        int rows, row_bytes;
        uint8_t bytes[16][64];
    };
    struct State {
        bool configured;
        Register registers[8];
    };
    static State& state() {
        thread_local State of_thread;
        return of_thread;
    }
    static void check(bool holds, const char* what) {
        if (!holds) tile_fault(what);
    }

    static void configure(const TileConfig& config) {
        check(reinterpret_cast<uintptr_t>(&config) % 64 == 0, "a configuration within a cache line");
        check(config.palette == 1 && config.start_row == 0, "palette 1 from row 0");
        for (const uint8_t byte : config.reserved) check(byte == 0, "reserved bytes are zero");
        for (int i = 0; i < 16; ++i) {
            const int rows = config.rows[i], row_bytes = config.row_bytes[i];
            check(rows <= 16 && row_bytes <= 64, "at most 16 rows of 64 bytes");
            check((rows == 0) == (row_bytes == 0), "rows and bytes, or neither");
            check(i < 8 || rows == 0, "8 registers");
        }
        state() = {};
        state().configured = true;
        for (int i = 0; i < 8; ++i) {
            state().registers[i].rows = config.rows[i];
            state().registers[i].row_bytes = config.row_bytes[i];
        }
    }
    static void release() { state() = {}; }

    template <int N>
    static Register& used() {
        static_assert(N < 8);
        check(state().configured && state().registers[N].rows > 0, "a register with rows");
        return state().registers[N];
    }
    template <int N>
    static void zero() {
        __builtin_memset(used<N>().bytes, 0, sizeof(Register::bytes));
    }
    template <int N>
    static void load(const void* p, int64_t stride) {
        zero<N>();
        Register& to = used<N>();
        for (int r = 0; r < to.rows; ++r)
            __builtin_memcpy(to.bytes[r], static_cast<const uint8_t*>(p) + r * stride,
                             static_cast<unsigned>(to.row_bytes));
    }
    template <int N>
    static void store(void* p, int64_t stride) {
        const Register& from = used<N>();
        for (int r = 0; r < from.rows; ++r)
            __builtin_memcpy(static_cast<uint8_t*>(p) + r * stride, from.bytes[r],
                             static_cast<unsigned>(from.row_bytes));
    }
    template <int C, int A, int B>
    static void dot_s8() {
        Register &c = used<C>(), &a = used<A>(), &b = used<B>();
        check(C != A && C != B && A != B, "three registers");
        check(c.rows == a.rows && c.row_bytes == b.row_bytes, "sums as large as the product");
        check(a.row_bytes == 4 * b.rows, "as many columns as rows");
        check(c.row_bytes % 4 == 0, "whole sums");
        for (int t = 0; t < c.rows; ++t) {
            for (int r = 0; r < c.row_bytes / 4; ++r) {
                int32_t sum;
                __builtin_memcpy(&sum, c.bytes[t] + 4 * r, sizeof sum);
                for (int j = 0; j < a.row_bytes; ++j)
                    sum += static_cast<int8_t>(a.bytes[t][j]) *
                           static_cast<int8_t>(b.bytes[j / 4][4 * r + j % 4]);
                __builtin_memcpy(c.bytes[t] + 4 * r, &sum, sizeof sum);
            }
        }
    }
};

}  // namespace
}  // namespace plait::backends::cpu::simd
