#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plait/base/atomic_file.h"

// Arrays of float32 in NumPy's file format ("NEP 1, a simple file format for NumPy arrays";
// numpy.lib.format), versions 1.0 to 3.0:
//
//   "\x93NUMPY" | u8 major | u8 minor | u16 or (from 2.0) u32 header length | header | values
//
// The header is a Python dictionary with the keys 'descr', 'fortran_order' and 'shape', as text. Plait reads
// and writes little-endian float32 ('<f4') in C order.
namespace plait {

struct NpyArray {
    std::vector<int64_t> shape;  // outermost first; empty for a single value
    std::vector<float> values;
};

// Throws Error naming the file and what was expected when it is not such an array or does not hold exactly
// the values that its shape promises. The file is untrusted: nothing is allocated beyond its own size.
NpyArray read_npy(const std::filesystem::path& path);
// The same from memory; `source` names it in messages.
NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& source);

// Writes a [rows, cols] array row by row; it appears under its name when it is whole (AtomicFile). Used by
// one thread.
class NpyWriter {
  public:
    // Throws Error as AtomicFile does.
    NpyWriter(const std::filesystem::path& path, int64_t rows, int64_t cols);

    // Whole rows: a multiple of `cols` values, no more rows than announced (both ENSUREd). Throws Error when
    // the disk does.
    void append(std::span<const float> values);
    // Called once, last, when all rows are there (ENSUREd).
    void commit();

  private:
    AtomicFile file_;
    int64_t cols_;
    int64_t rows_left_;
};

}  // namespace plait
