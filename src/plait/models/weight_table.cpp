#include "plait/models/weight_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/base/quote.h"
#include "plait/gguf/ggml_types.h"

namespace plait::models {
namespace {

constexpr size_t kMaxNamed = 5;  // surplus tensors that the warning names

ir::Shape shape_of(const gguf::Tensor& tensor) {
    ir::Shape shape;
    for (const int64_t extent : tensor.shape()) shape.push_back(extent);
    return shape;
}

}  // namespace

void WeightTable::refuse(std::string_view name, std::string_view problem) const {
    throw Error(fmt::format("{}: tensor {}: {}", file_.source(), quote(name), problem));
}

WeightIndex WeightTable::require(const std::string& name, const ir::Shape& shape, const ir::Cut& cut) {
    const auto index = optional(name, shape, cut);
    if (!index) refuse(name, fmt::format("needed by architecture {} but not in the file", architecture_));
    return *index;
}

std::optional<WeightIndex> WeightTable::optional(const std::string& name, const ir::Shape& shape,
                                                 const ir::Cut& cut) {
    const gguf::Tensor* tensor = file_.find_tensor(name);
    if (tensor == nullptr) return std::nullopt;
    const ir::Shape found = shape_of(*tensor);
    if (found != shape)
        refuse(name, fmt::format("expected shape {} by architecture {}, found {}", shape.text(),
                                 architecture_, found.text()));
    if (!tensor->type) refuse(name, gguf::unsupported_type(tensor->type_id));
    const ir::DType type = *tensor->type;
    const bool vector = shape.rank() == 1 || name.ends_with(".bias") || name.ends_with("_norm.weight");
    if (vector ? type != ir::DType::F32 : type == ir::DType::I32)
        refuse(name, fmt::format("expected {} by architecture {}, found {}",
                                 vector ? "F32" : "a weight format", architecture_, dtype::info(type).name));
    const auto place = static_cast<size_t>(tensor - file_.tensors().data());
    ENSURE(!read_[place], name);
    read_[place] = true;
    weights_.push_back({name, {type, shape}, cut});
    return static_cast<WeightIndex>(weights_.size() - 1);
}

std::optional<WeightIndex> WeightTable::find(const std::string& name, const ir::Shape& shape,
                                             const ir::Cut& cut, Presence presence) {
    switch (presence) {
        case Presence::absent:
            return std::nullopt;
        case Presence::optional:
            return optional(name, shape, cut);
        case Presence::required:
            return require(name, shape, cut);
    }
    ENSURE(false, "every presence is handled");
}

WeightIndex WeightTable::require_row(const std::string& name, int64_t width, const ir::Cut& cut) {
    const WeightIndex index = require(name, {width}, cut);
    weights_[static_cast<size_t>(index)].desc.shape = {1, width};
    return index;
}

void WeightTable::expect(const std::string& name, const ir::Shape& shape) {
    require(name, shape, ir::Role::replicated);
    weights_.pop_back();
}

void WeightTable::warn_of_surplus() const {
    std::vector<std::string> names;
    size_t surplus = 0;
    for (size_t place = 0; place < read_.size(); ++place) {
        if (read_[place]) continue;
        if (++surplus <= kMaxNamed) names.push_back(quote(file_.tensors()[place].name));
    }
    if (surplus == 0) return;
    const std::string more = surplus > kMaxNamed ? fmt::format(" and {} more", surplus - kMaxNamed) : "";
    log_warning(fmt::format("{}: architecture {} does not read {}{}", file_.source(), architecture_,
                            fmt::join(names, ", "), more));
}

std::vector<ir::WeightSpec> WeightTable::finish(bool warn) && {
    if (warn) warn_of_surplus();
    return std::move(weights_);
}

}  // namespace plait::models
