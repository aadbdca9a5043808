#pragma once

#include <string>

#include "plait/plan/shard.h"
#include "plait/plan/test_random_models.h"

// What must hold of a model's graphs of several members. Linked by tests only (plait_test_random_models).
namespace plait::plan::test {

// What one member says that has everything.
struct Alone {
    TestTensor output;
    std::vector<TestTensor> taps;
    std::vector<TestTensor> state;  // after the step
    double tolerance = 0;           // the model's
    // Two experts are so nearly as good as one another that rounding may choose: numbers prove nothing.
    bool close_choice = false;
};

Alone run_alone(const RandomModel& model);

// Both return the first fault in words; empty if there is none.

// The pass refuses only what `model` says, and the graphs it makes have as many collectives as the rules ask
// for, of which all members have the same, with the same bits; no member computes a value twice; values that
// are mirrored have the same bits on all; and output, taps and state are what one member alone says, as far
// as rounding lets it say the same twice, with collectives as they are and lowered in every way.
std::string shard_fault(const RandomModel& model, const Alone& alone, const Layouts& layouts,
                        const ShardRule& rule);

// The same for layouts that nobody asked for: they are refused, or the results are right.
std::string odd_layouts_fault(const RandomModel& model, const Alone& alone, const Layouts& layouts,
                              const ShardRule& rule);

}  // namespace plait::plan::test
