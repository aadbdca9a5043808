#include "plait/ir/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "plait/base/ensure.h"

namespace plait::ir {

Shape::Shape(std::initializer_list<int64_t> extents) {
    for (int64_t extent : extents) push_back(extent);
}

void Shape::push_back(int64_t extent) {
    ENSURE(rank_ < kMaxRank, "a shape has at most four axes");
    ENSURE(extent >= 0, "an extent is not negative");
    extents_[static_cast<size_t>(rank_++)] = extent;
}

int64_t Shape::elements() const {
    int64_t product = 1;
    for (int axis = 0; axis < rank_; ++axis) product *= (*this)[axis];
    return product;
}

std::string Shape::text() const {
    return fmt::format("[{}]", fmt::join(std::span(extents_).first(static_cast<size_t>(rank_)), ", "));
}

int64_t TensorDesc::row_bytes() const {
    return dtype::row_bytes(type, dtype::padded_elements(type, shape.last()));
}

int64_t TensorDesc::row_count() const {
    int64_t count = 1;
    for (int axis = 0; axis + 1 < shape.rank(); ++axis) count *= shape[axis];
    return count;
}

int64_t TensorDesc::bytes() const { return row_count() * row_bytes(); }

int64_t TensorDesc::slice_bytes() const {
    return shape.rank() == 0 || shape[0] == 0 ? 0 : bytes() / shape[0];
}

std::string TensorDesc::text() const { return dtype::info(type).name + shape.text(); }

}  // namespace plait::ir
