#include "pairwise.h"

#include <cstddef>
#include <set>
#include <tuple>

namespace plait::system_test {
namespace {

constexpr int kOpen = -1;  // an axis without a choice yet

using Pair = std::tuple<size_t, int, size_t, int>;  // axis and value, of the lower axis first

Pair pair_of(size_t axis, int value, size_t other, int other_value) {
    return axis < other ? Pair{axis, value, other, other_value} : Pair{other, other_value, axis, value};
}

std::set<Pair> all_pairs(const std::vector<int>& sizes) {
    std::set<Pair> pairs;
    for (size_t a = 0; a < sizes.size(); ++a) {
        for (size_t b = a + 1; b < sizes.size(); ++b) {
            for (int i = 0; i < sizes[a]; ++i) {
                for (int j = 0; j < sizes[b]; ++j) pairs.insert({a, i, b, j});
            }
        }
    }
    return pairs;
}

// How many of the missing pairs the value completes with what is chosen already.
int gain(const Combination& chosen, const std::set<Pair>& missing, size_t axis, int value) {
    int count = 0;
    for (size_t other = 0; other < chosen.size(); ++other) {
        if (other == axis || chosen[other] == kOpen) continue;
        count += static_cast<int>(missing.count(pair_of(axis, value, other, chosen[other])));
    }
    return count;
}

// The most gainful value; among equals the one after `turn`, so that values take turns.
int best_value(const Combination& chosen, const std::set<Pair>& missing, size_t axis, int size, int turn) {
    int best = 0, most = -1;
    for (int i = 0; i < size; ++i) {
        const int value = (turn + i) % size;
        const int completed = gain(chosen, missing, axis, value);
        if (completed > most) {
            most = completed;
            best = value;
        }
    }
    return best;
}

}  // namespace

std::vector<Combination> every_pair(const std::vector<int>& sizes) {
    if (sizes.size() == 1) return every_combination(sizes);
    std::vector<Combination> combinations;
    std::set<Pair> missing = all_pairs(sizes);
    while (!missing.empty()) {
        Combination chosen(sizes.size(), kOpen);
        const auto [a, value_a, b, value_b] = *missing.begin();  // at least this one is new
        chosen[a] = value_a;
        chosen[b] = value_b;
        for (size_t axis = 0; axis < sizes.size(); ++axis) {
            if (chosen[axis] == kOpen)
                chosen[axis] =
                    best_value(chosen, missing, axis, sizes[axis], static_cast<int>(combinations.size()));
        }
        for (size_t x = 0; x < sizes.size(); ++x) {
            for (size_t y = x + 1; y < sizes.size(); ++y) missing.erase({x, chosen[x], y, chosen[y]});
        }
        combinations.push_back(std::move(chosen));
    }
    return combinations;
}

std::vector<Combination> every_combination(const std::vector<int>& sizes) {
    std::vector<Combination> combinations{{}};
    for (const int size : sizes) {
        std::vector<Combination> longer;
        for (const Combination& combination : combinations) {
            for (int value = 0; value < size; ++value) {
                longer.push_back(combination);
                longer.back().push_back(value);
            }
        }
        combinations = std::move(longer);
    }
    return combinations;
}

}  // namespace plait::system_test
