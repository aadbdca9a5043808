#pragma once

#include <rapidcheck.h>

#include "plait/plan/test_random_models.h"

// RapidCheck's side of random models. Linked by tests only (plait_test_random_models).
namespace plait::plan {

std::ostream& operator<<(std::ostream& os, const Layouts& layouts);  // for failures to print

namespace test {

// Any form, any ratios of 1 to 8 members; shrinks towards one layer without extras on one member.
rc::Gen<Choices> any_choices();

// The same choices for the same number, on every run.
Choices choices_of(uint64_t number);

// The model's layouts with one or two tensors lying somewhere else: whole, all of it on every member, or in
// pieces of any axis that cover it and may overlap.
rc::Gen<Layouts> odd_layouts(const RandomModel& model, const Layouts& layouts);
Layouts odd_layouts_of(const RandomModel& model, const Layouts& layouts, uint64_t number);

// Adds to the environment's RC_PARAMS what it leaves open: so many cases, the same ones in every run. To be
// called before the first check.
void set_default_cases(int cases);

}  // namespace test
}  // namespace plait::plan
