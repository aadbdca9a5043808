#pragma once

#include <span>
#include <string>
#include <vector>

// How much of a model each member gets. Pure functions; speeds are in any unit, above 0.
namespace plait::engine {

// Shares that let all members take equally long, as numbers for -ts: the fastest has 100, the others as many
// hundredths as they are fast, in two digits. Members within a tenth of each other have equal ones, since
// measuring again would order them otherwise, and another order means other bits.
std::vector<double> shares_by_speed(std::span<const double> speeds);

// The same proportions as far as nobody gets more than its limit (of a sum of 1); the others have the rest in
// their proportions. The sum is 1. Empty when the limits do not come to 1.
std::vector<double> within_limits(std::span<const double> shares, std::span<const double> limits);

// "100,52,0.7": how -ts takes them.
std::string format_shares(std::span<const double> shares);

// Who makes the others wait, when its share takes it more than a quarter longer than the member that is done
// first; members without a share wait for nothing and are nobody's measure.
struct Pace {
    int slowest = -1;  // -1: nobody
    int fastest = -1;
    double times = 1;  // how much longer than the fastest
};
Pace pace_of(std::span<const double> shares, std::span<const double> speeds);

}  // namespace plait::engine
