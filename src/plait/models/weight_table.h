#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/gguf/file.h"
#include "plait/ir/weights.h"

namespace plait::models {

// Place of a weight in Model::weights().
using WeightIndex = int32_t;

// Whether files of an architecture have a part.
enum class Presence : uint8_t {
    absent,    // not looked for
    optional,  // used where a file has it
    required,
};

// Collects the tensors that an architecture reads from a file, checking each against what the architecture
// expects. Matrices may have any weight format; vectors (norms, factors, and biases), those of
// heads or experts stacked too, are F32. Used by one thread.
class WeightTable {
  public:
    // `file` outlives the table.
    WeightTable(const gguf::File& file, std::string_view architecture)
        : file_(file), architecture_(architecture), read_(file.tensors().size()) {}

    bool contains(std::string_view name) const { return file_.find_tensor(name) != nullptr; }
    // Each name is asked for once (ENSUREd). Both throw Error naming tensor, expected and found shape or
    // type; require() also when the tensor is missing.
    WeightIndex require(const std::string& name, const ir::Shape& shape, const ir::Cut& cut);
    std::optional<WeightIndex> optional(const std::string& name, const ir::Shape& shape, const ir::Cut& cut);
    std::optional<WeightIndex> find(const std::string& name, const ir::Shape& shape, const ir::Cut& cut,
                                    Presence presence);
    // A vector [width] of the file as the matrix [1, width] that it is to the computation.
    WeightIndex require_row(const std::string& name, int64_t width, const ir::Cut& cut);
    // A tensor that the file must have although this model makes no use of it.
    void expect(const std::string& name, const ir::Shape& shape);

    // The list, once everything is read; one warning, if wanted, (through the log) names tensors that nobody
    // asked for.
    std::vector<ir::WeightSpec> finish(bool warn = true) &&;

  private:
    [[noreturn]] void refuse(std::string_view name, std::string_view problem) const;
    void warn_of_surplus() const;

    const gguf::File& file_;
    std::string architecture_;
    std::vector<bool> read_;  // by the file's order of tensors
    std::vector<ir::WeightSpec> weights_;
};

}  // namespace plait::models
