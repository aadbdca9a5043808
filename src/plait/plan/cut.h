#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/layout.h"
#include "plait/ir/weights.h"

// Where weights and state are cut over members. Pure functions of descriptions.
namespace plait::plan {

// How the token table lies over the members.
enum class EmbeddingSplit : uint8_t {
    automatic,  // mirrored; a table that is the output matrix as well is cut like that
    mirrored,
    vocabulary,  // by ids: every member adds the rows it has, one reduction per step
    hidden,      // by features: one gathering per step
};

enum class ExpertSplit : uint8_t {
    inner,    // every member has its part of every expert
    experts,  // every member has some experts, whole
};

struct CutOptions {
    std::vector<double> ratios;  // by member, not negative, at least one above 0; equal shares: all 1
    EmbeddingSplit embedding = EmbeddingSplit::automatic;
    ExpertSplit experts = ExpertSplit::inner;

    int members() const { return static_cast<int>(ratios.size()); }
};

// Throws Error naming the member unless the ratios are as CutOptions says.
void check_ratios(std::span<const double> ratios);

// Cuts `units` for the members: member j ends at the multiple of `granule` at or below its exact border, the
// last one at the end. Rounding starts at member `first` and goes around, which moves who gets the remainder;
// a ratio of 0 gets nothing. Consecutive, covers all.
std::vector<ir::Range> cut_units(int64_t units, std::span<const double> ratios, int64_t granule, int first);

// The same with the first granule of the list that moves no member by more than 1/16 of its exact share; 1 if
// none does.
std::vector<ir::Range> cut_aligned(int64_t units, std::span<const double> ratios,
                                   std::span<const int64_t> granules, int first);

// Layouts of a model's weights and state, by index.
struct Layouts {
    std::vector<ir::Layout> weights;
    std::vector<ir::Layout> state;
};

// Layouts follow from roles, block formats, head counts and ratios. The pieces of one part (ir::Cut) lie at
// the same places; parts of one kind take turns at who gets the rounding. ENSUREs that ratios are checked.
Layouts lay_out(std::span<const ir::WeightSpec> weights, std::span<const ir::StateGroupSpec> groups,
                const CutOptions& options);

}  // namespace plait::plan
