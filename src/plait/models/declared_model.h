#pragma once

#include <vector>

#include "plait/models/model.h"

namespace plait::models {

// What an architecture has to say besides its graph, once a file is read.
struct Declaration {
    ModelSummary summary;
    std::vector<ir::WeightSpec> weights;
    std::vector<ir::StateGroupSpec> state_groups;
};

// The part of Model that is the same for every architecture.
class DeclaredModel : public Model {
  public:
    explicit DeclaredModel(Declaration declaration) : declaration_(std::move(declaration)) {}

    const ModelSummary& summary() const final { return declaration_.summary; }
    std::span<const ir::WeightSpec> weights() const final { return declaration_.weights; }
    std::span<const ir::StateGroupSpec> state_groups() const final { return declaration_.state_groups; }

  private:
    Declaration declaration_;
};

}  // namespace plait::models
