#include "plait/backends/cpu/simd/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "plait/backends/cpu/simd/levels.h"
#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::backends::cpu::simd {
namespace {

// Names of the built levels for which `wanted` holds: "scalar, avx2".
template <class Wanted>
std::string names(Wanted wanted) {
    std::string out;
    for (const LevelRow& row : built_levels()) {
        if (!wanted(row)) continue;
        if (!out.empty()) out += ", ";
        out += name(row.level);
    }
    return out;
}

const LevelRow* find(SimdLevel level) {
    const auto levels = built_levels();
    const auto found = std::ranges::find(levels, level, &LevelRow::level);
    return found == levels.end() ? nullptr : &*found;
}

// What kernels may use in this process.
CpuFeatures features_here() {
    CpuFeatures features = probe_cpu().features;
    features.amx_int8 = features.amx_int8 && ask_for_tiles();
    return features;
}

}  // namespace

const char* name(SimdLevel level) {
    switch (level) {
        case SimdLevel::scalar:
            return "scalar";
        case SimdLevel::sse4:
            return "sse4";
        case SimdLevel::avx2:
            return "avx2";
        case SimdLevel::avxvnni:
            return "avxvnni";
        case SimdLevel::avx512vnni:
            return "avx512vnni";
        case SimdLevel::amx:
            return "amx";
        case SimdLevel::neon:
            return "neon";
        case SimdLevel::dotprod:
            return "dotprod";
        case SimdLevel::i8mm:
            return "i8mm";
        case SimdLevel::sve128:
            return "sve128";
        case SimdLevel::sve256:
            return "sve256";
        case SimdLevel::rvv128:
            return "rvv128";
        case SimdLevel::rvv256:
            return "rvv256";
    }
    ENSURE(false, "a SimdLevel outside its enumerators");
}

SimdLevel parse_level(std::string_view text) {
    if (text == "best") return best_level();
    for (const LevelRow& row : built_levels())
        if (text == name(row.level)) return row.level;
    const std::string built = names([](const LevelRow&) { return true; });
    if (std::ranges::find(kAllLevels, text, name) != std::end(kAllLevels))
        throw Error(
            fmt::format("--simd {}: this build is for {} and has kernels for {}", text, built_for(), built));
    throw Error(fmt::format("--simd: this build has kernels for {}, not for '{}'", built, text));
}

bool has_level(SimdLevel level) {
    const LevelRow* row = find(level);
    return row != nullptr && row->runs_on(features_here());
}

SimdLevel best_level() {
    const CpuFeatures features = features_here();
    SimdLevel best = SimdLevel::scalar;
    for (const LevelRow& row : built_levels())
        if (row.runs_on(features)) best = row.level;
    return best;
}

const KernelTable& kernels(SimdLevel level) {
    const CpuFeatures features = features_here();
    const LevelRow* row = find(level);
    if (row == nullptr || !row->runs_on(features))
        throw Error(fmt::format("--simd {}: this processor ({}) can run only {}", name(level),
                                probe_cpu().name,
                                names([&](const LevelRow& other) { return other.runs_on(features); })));
    return row->kernels();
}

}  // namespace plait::backends::cpu::simd
