#include "support.h"

#include <unistd.h>

#include <fmt/format.h>

#include <map>
#include <random>

#include "plait/engine/text_run.h"
#include "plait/tools/synth.h"

namespace plait::system_test {
namespace {

// Removes the files at the end of the process.
class SynthFiles {
  public:
    ~SynthFiles() {
        for (const auto& [key, path] : paths_) std::filesystem::remove(path);
    }

    std::filesystem::path get(const std::string& arch, const std::string& size, const std::string& type) {
        const std::string key = arch + " " + size + " " + type;
        const auto known = paths_.find(key);
        if (known != paths_.end()) return known->second;
        const auto path = std::filesystem::temp_directory_path() /
                          fmt::format("plait-test-{}-{}.gguf", getpid(), paths_.size());
        tools::synth({.arch = arch, .size = size, .type = type, .out = path, .seed = 7});
        return paths_[key] = path;
    }

  private:
    std::map<std::string, std::filesystem::path> paths_;
};

}  // namespace

std::filesystem::path synth_model(const std::string& arch, const std::string& size, const std::string& type) {
    static SynthFiles files;
    return files.get(arch, size, type);
}

std::vector<int32_t> random_ids(size_t count, int64_t vocabulary, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<int32_t> ids(count);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<uint64_t>(vocabulary));
    return ids;
}

engine::EngineOptions options_for(const std::filesystem::path& model, int64_t context) {
    engine::EngineOptions options;
    options.model = model.string();
    options.context = context;
    options.threads = 2;
    options.micro_batch = 64;
    options.max_outputs = 512;
    return options;
}

std::vector<int64_t> free_pages(const engine::Engine& engine) {
    std::vector<int64_t> free;
    for (size_t group = 0; group < engine.prepared().pages.size(); ++group)
        free.push_back(engine.free_pages(static_cast<int>(group)));
    return free;
}

std::vector<float> all_logits(engine::Engine& engine, std::span<const int32_t> ids, bool keep_cache) {
    engine::TextRun text(engine, keep_cache);
    std::vector<float> logits;
    const auto outcome = text.extend(ids, engine::Logits::all, [&](std::span<const float> row) {
        logits.insert(logits.end(), row.begin(), row.end());
    });
    return outcome == engine::Outcome::done ? logits : std::vector<float>();
}

std::vector<float> all_logits(const engine::EngineOptions& options, std::span<const int32_t> ids) {
    engine::Engine engine(options);
    return all_logits(engine, ids);
}

}  // namespace plait::system_test
