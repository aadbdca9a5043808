#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "plait/engine/engine.h"
#include "plait/engine/generate.h"
#include "plait/tools/bench.h"
#include "plait/tools/measure.h"
#include "plait/tools/measure_sums.h"

// What commands print for people and for machines.
namespace plait::tools {

// What -v adds: the model's shape, cache, steps and how weights are stored.
std::string details_text(const engine::Prepared& prepared);

// "48 tokens (limit) in 0.41 s: prompt 5 tokens at 220.1/s, then 117.9 tokens/s"
std::string generation_text(const engine::Generation& generation);
std::string generation_json(const engine::Prepared& prepared, const engine::Generation& generation);

// {"device", "context", bytes.., "prompt_tokens", "greedy"}
std::string logits_json(const engine::Prepared& prepared, size_t prompt_tokens,
                        std::span<const int32_t> greedy);

std::string bench_text(const BenchResult& result);
std::string bench_json(const BenchResult& result);

// Every device this process could use: {"devices":[{"device","kind","details","memory","memory_bytes",
// "threads"}],...}
struct DevicesReport {
    std::vector<device::DeviceDescription> devices;
    MemorySpeeds speeds;
    std::optional<SumSpeeds> sums;  // over several members with cores of this process
    std::string features;           // of the processor
    std::string best_simd;
};
std::string devices_text(const DevicesReport& report);
std::string devices_json(const DevicesReport& report);

}  // namespace plait::tools
