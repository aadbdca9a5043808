#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "plait/dtype/dtype.h"

// Shapes and types of values. Nothing here owns memory.
namespace plait::ir {

using dtype::DType;

inline constexpr int kMaxRank = 4;

// Extents, outermost first: [tokens, heads, width]. A value, compared by content.
class Shape {
  public:
    Shape() = default;
    Shape(std::initializer_list<int64_t> extents);

    int rank() const { return rank_; }
    int64_t operator[](int axis) const { return extents_[static_cast<size_t>(axis)]; }
    int64_t& operator[](int axis) { return extents_[static_cast<size_t>(axis)]; }
    int64_t last() const { return rank_ == 0 ? 1 : extents_[static_cast<size_t>(rank_ - 1)]; }
    int64_t elements() const;
    void push_back(int64_t extent);
    bool operator==(const Shape&) const = default;

    std::string text() const;  // "[32, 4, 64]"

  private:
    std::array<int64_t, kMaxRank> extents_{};
    int rank_ = 0;
};

// What the outermost axis of an activation counts. A program is compiled for a capacity; how many of those
// rows a step really has comes with the step's data.
enum class Rows : uint8_t {
    fixed,    // the extent is the extent: weights, state
    tokens,   // one row per token of the step
    outputs,  // one row per token whose logits are wanted
};

// The innermost axis is stored as whole blocks: a row of `shape.last()` values takes
// row_bytes(type, padded_elements(type, shape.last())) bytes, rows follow each other without gaps.
struct TensorDesc {
    DType type = DType::F32;
    Shape shape;
    Rows rows = Rows::fixed;

    int64_t row_bytes() const;    // one innermost row
    int64_t row_count() const;    // product of all axes but the innermost
    int64_t bytes() const;        // the whole tensor
    int64_t slice_bytes() const;  // one index of the outermost axis
    bool operator==(const TensorDesc&) const = default;

    std::string text() const;  // "F32[32, 4, 64]"
};

}  // namespace plait::ir
