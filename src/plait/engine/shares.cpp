#include "plait/engine/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace plait::engine {
namespace {

constexpr double kAlike = 0.9;
// Who has less does not count.
constexpr double kLeastShare = 1e-3;
constexpr double kPatience = 1.25;

double two_digits(double value) {
    const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
    return std::round(value / unit) * unit;
}

// Each is as fast as the fastest one that is alike.
std::vector<double> evened(std::span<const double> speeds) {
    std::vector<size_t> order(speeds.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, std::greater{}, [&](size_t i) { return speeds[i]; });
    std::vector<double> even(speeds.size());
    double leader = 0;
    for (size_t i : order) {
        if (speeds[i] < kAlike * leader || leader == 0) leader = speeds[i];
        even[i] = leader;
    }
    return even;
}

}  // namespace

std::vector<double> shares_by_speed(std::span<const double> speeds) {
    std::vector<double> shares = evened(speeds);
    const double fastest = std::ranges::max(shares);
    for (double& share : shares) share = share == fastest ? 100 : two_digits(100 * share / fastest);
    return shares;
}

std::vector<double> within_limits(std::span<const double> shares, std::span<const double> limits) {
    std::vector<double> given(shares.size(), 0);
    std::vector<bool> full(shares.size(), false);
    double left = 1;
    // Each round fills somebody, or is the last.
    for (size_t round = 0; round <= shares.size(); ++round) {
        double open = 0;
        for (size_t i = 0; i < shares.size(); ++i) open += full[i] ? 0 : shares[i];
        if (open <= 0) break;
        bool filled = false;
        const double scale = left / open;
        for (size_t i = 0; i < shares.size(); ++i) {
            if (full[i] || shares[i] * scale <= limits[i]) continue;
            full[i] = filled = true;
            given[i] = std::max(0.0, limits[i]);
            left -= given[i];
        }
        if (filled) continue;
        for (size_t i = 0; i < shares.size(); ++i) {
            if (!full[i]) given[i] = shares[i] * scale;
        }
        return given;
    }
    return {};
}

std::string format_shares(std::span<const double> shares) {
    std::string text;
    for (double share : shares) text += fmt::format("{}{:.3g}", text.empty() ? "" : ",", share);
    return text;
}

Pace pace_of(std::span<const double> shares, std::span<const double> speeds) {
    Pace pace;
    const auto time = [&](int member) {
        return shares[static_cast<size_t>(member)] / speeds[static_cast<size_t>(member)];
    };
    for (int member = 0; member < static_cast<int>(shares.size()); ++member) {
        if (shares[static_cast<size_t>(member)] < kLeastShare) continue;
        if (pace.slowest < 0 || time(member) > time(pace.slowest)) pace.slowest = member;
        if (pace.fastest < 0 || time(member) < time(pace.fastest)) pace.fastest = member;
    }
    if (pace.slowest < 0) return {};
    pace.times = time(pace.slowest) / time(pace.fastest);
    return pace.times > kPatience ? pace : Pace{};
}

}  // namespace plait::engine
