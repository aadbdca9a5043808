#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plait::tools {

// What one way of computing did: a SIMD level of the processor, exact or not.
struct SelftestPart {
    std::string device;  // "cpu avx2"
    int64_t calls = 0;   // op cases run, each weight layout counted
};

struct SelftestResult {
    std::vector<SelftestPart> parts;
    std::vector<std::string> failures;  // a line each: device, case, what is wrong
};

// Runs every kernel this machine can run, on every op case, against the reference: all SIMD levels, quantised
// and exact activations, packed and plain weights, and the simulated accelerator.
SelftestResult selftest();

// The failures, then a line per part, then the summary line.
std::string selftest_text(const SelftestResult& result);

}  // namespace plait::tools
