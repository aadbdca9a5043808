#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plait/engine/engine.h"

// What tests of the whole engine share.
namespace plait::system_test {

// A model written by tools::synth, once per process; the file lives as long as the process.
std::filesystem::path synth_model(const std::string& arch, const std::string& size, const std::string& type);

// `count` ids below `vocabulary` that differ from seed to seed.
std::vector<int32_t> random_ids(size_t count, int64_t vocabulary, uint32_t seed);

// An engine in which every row may be wanted.
engine::EngineOptions options_for(const std::filesystem::path& model, int64_t context);

// By state group.
std::vector<int64_t> free_pages(const engine::Engine& engine);

// Feeds the ids to a new sequence and releases it again: the logits of every token, row after row.
std::vector<float> all_logits(engine::Engine& engine, std::span<const int32_t> ids, bool keep_cache = true);
std::vector<float> all_logits(const engine::EngineOptions& options, std::span<const int32_t> ids);

}  // namespace plait::system_test
