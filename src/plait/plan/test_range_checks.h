#pragma once

#include <string>

#include "plait/plan/test_random_models.h"

// What must hold of where a model's weights and state are cut. Linked by tests only
// (plait_test_random_models).
namespace plait::plan::test {

// The first fault in words; empty if there is none. Ranges are consecutive, cover everything, give nothing
// for a ratio of 0, and lie within a granule of what the ratios ask for; every member has the key/value heads
// that its query heads read, and no others.
std::string ranges_fault(const RandomModel& model, const Layouts& layouts);

}  // namespace plait::plan::test
