#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait {

// Arithmetic on sizes that come from files or requests, where a result that does not fit is the input's
// fault. The checked_ functions return nothing then; the _or_throw forms throw an Error that starts with
// `context` ("tensor 'output.weight'"). Both operands have the same type: mixing signs is where such checks
// usually fail. Pure functions.

template <typename T>
concept CheckedInteger = std::same_as<T, int64_t> || std::same_as<T, uint64_t>;

template <CheckedInteger T>
constexpr std::optional<T> checked_mul(T a, T b) {
    T result;
    if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
    return result;
}

template <CheckedInteger T>
constexpr std::optional<T> checked_add(T a, T b) {
    T result;
    if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
    return result;
}

// The smallest multiple of `step` that is not below `value`; value >= 0, step >= 1 (a step of the file's
// choice is validated first).
template <CheckedInteger T>
constexpr std::optional<T> checked_round_up(T value, T step) {
    ENSURE(value >= 0 && step >= 1, "rounding up is for sizes");
    const T beyond = value % step;
    return beyond == 0 ? std::optional(value) : checked_add<T>(value, step - beyond);
}

template <CheckedInteger T>
T mul_or_throw(T a, T b, std::string_view context) {
    if (const auto result = checked_mul(a, b)) return *result;
    throw Error(std::string(context) + ": " + std::to_string(a) + " times " + std::to_string(b) +
                " does not fit in 64 bits");
}

template <CheckedInteger T>
T add_or_throw(T a, T b, std::string_view context) {
    if (const auto result = checked_add(a, b)) return *result;
    throw Error(std::string(context) + ": " + std::to_string(a) + " plus " + std::to_string(b) +
                " does not fit in 64 bits");
}

template <CheckedInteger T>
T round_up_or_throw(T value, T step, std::string_view context) {
    if (const auto result = checked_round_up(value, step)) return *result;
    throw Error(std::string(context) + ": " + std::to_string(value) + " rounded up to a multiple of " +
                std::to_string(step) + " does not fit in 64 bits");
}

}  // namespace plait
