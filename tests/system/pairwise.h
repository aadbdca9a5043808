#pragma once

#include <vector>

// Which combinations of several choices to try.
namespace plait::system_test {

using Combination = std::vector<int>;  // by axis, the number of the value that is chosen

// So that every two values of two axes come together in at least one of them; `sizes` are the axes' counts of
// values, each at least 1. Greedy, so few but not the fewest; the same ones every time.
std::vector<Combination> every_pair(const std::vector<int>& sizes);

// All of them; the last axis changes fastest.
std::vector<Combination> every_combination(const std::vector<int>& sizes);

}  // namespace plait::system_test
