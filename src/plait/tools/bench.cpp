#include "plait/tools/bench.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/base/memory_info.h"
#include "plait/engine/engine.h"
#include "plait/engine/text_run.h"
#include "plait/sample/sampler.h"
#include "plait/tools/measure.h"
#include "plait/tools/start.h"

namespace plait::tools {
namespace {

// Fixed ids that spread over the vocabulary, so that embedding rows and experts vary.
std::vector<int32_t> prompt_ids(int64_t count, int64_t vocabulary) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * 7919 + 13) % vocabulary));
    return ids;
}

// Weight bytes that one generated token reads: every matrix of the decode graph, of stacked experts those
// that are used.
int64_t bytes_per_token(const engine::Prepared& prepared) {
    const ir::Graph graph = prepared.model->build({.capacity = {1, 1, 1}, .pages = prepared.pages});
    int64_t bytes = 0;
    for (const ir::Node& node : graph.nodes()) {
        const bool experts = std::holds_alternative<ir::MatmulExperts>(node.op);
        if (!experts && !std::holds_alternative<ir::Matmul>(node.op)) continue;
        const ir::TensorDesc& weight = graph.value(node.inputs[1]).desc;
        bytes += experts ? weight.slice_bytes() * graph.value(node.inputs[2]).desc.shape[1] : weight.bytes();
    }
    return bytes;
}

constexpr int kMostTimedPasses = 3;

class Bench {
  public:
    Bench(engine::Engine& engine, const BenchOptions& options)
        : engine_(engine),
          options_(options),
          depth_(prompt_ids(options.depth, engine.vocabulary())),
          prompt_(prompt_ids(options.prompt, engine.vocabulary())),
          greedy_sampler_({.temperature = 0}, static_cast<int32_t>(engine.vocabulary()), 0) {}

    void warm_up() {
        engine::TextRun text(engine_, options_.keep_cache);
        const int32_t token = 1 % static_cast<int32_t>(engine_.vocabulary());
        extend(text, {&token, 1});
    }

    double prompt_rate() {
        engine::TextRun text(engine_, options_.keep_cache);
        if (!depth_.empty()) extend(text, depth_);
        return static_cast<double>(options_.prompt) / seconds_of([&] { extend(text, prompt_); });
    }

    // Greedy, so that every repetition reads the same; ids of the last one are kept.
    double generation_rate() {
        engine::TextRun text(engine_, options_.keep_cache);
        const int32_t first = 1 % static_cast<int32_t>(engine_.vocabulary());
        extend(text, depth_.empty() ? std::span(&first, 1) : std::span<const int32_t>(depth_));
        greedy_.clear();
        const double seconds = seconds_of([&] {
            for (int64_t i = 0; i < options_.generate; ++i) {
                const int32_t token = best_;
                greedy_.push_back(token);
                extend(text, {&token, 1});
            }
        });
        return static_cast<double>(options_.generate) / seconds;
    }

    // What such a pass takes, by member: the quickest of a few.
    std::vector<device::RunTimes> times_of(double (Bench::*pass)()) {
        std::vector<device::RunTimes> quickest;
        timed_ = true;
        for (int i = 0; i < std::min(options_.repetitions, kMostTimedPasses); ++i) {
            (this->*pass)();
            const std::vector<device::RunTimes> times = device().run_times();
            if (times.empty()) break;
            if (quickest.empty() || times[0].all() < quickest[0].all()) quickest = times;
        }
        timed_ = false;
        return quickest;
    }

    std::string checksum() const {
        return fmt::format("{:016x}", XXH64(greedy_.data(), greedy_.size() * sizeof(int32_t), 0));
    }

  private:
    device::Device& device() const { return *engine_.prepared().device; }

    double seconds_of(const std::function<void()>& work) {
        if (timed_) device().time_runs(true);
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        if (timed_) device().time_runs(false);
        return seconds.count();
    }

    void extend(engine::TextRun& text, std::span<const int32_t> tokens) {
        const auto best = text.choose_next(tokens, greedy_sampler_);
        if (!best) throw Error("bench: interrupted");
        best_ = *best;
    }

    engine::Engine& engine_;
    const BenchOptions& options_;
    const std::vector<int32_t> depth_;
    const std::vector<int32_t> prompt_;
    std::vector<int32_t> greedy_;
    sample::Sampler greedy_sampler_;
    int32_t best_ = 0;
    bool timed_ = false;
};

std::vector<MemberTimes> times_of_members(Bench& run, const BenchOptions& bench,
                                          const engine::Prepared& prepared) {
    std::vector<device::RunTimes> prompt, generation;
    if (bench.prompt > 0) prompt = run.times_of(&Bench::prompt_rate);
    if (bench.generate > 0) generation = run.times_of(&Bench::generation_rate);
    const device::DeviceDescription& whole = prepared.device->describe();
    std::vector<MemberTimes> members;
    for (size_t m = 0; m < std::max(prompt.size(), generation.size()); ++m) {
        members.push_back({.device = whole.members.empty() ? whole.name : whole.members[m].name});
        if (!prompt.empty()) members.back().prompt = prompt[m];
        if (!generation.empty()) members.back().generation = generation[m];
    }
    return members;
}

int64_t total_weight_bytes(const models::Model& model) {
    int64_t bytes = 0;
    for (const ir::WeightSpec& spec : model.weights()) bytes += spec.desc.bytes();
    return bytes;
}

void forget_peak() {
    if (!reset_peak_resident()) {
        log_warning(
            "the system does not let go of the peak memory so far: it includes that of measuring the memory");
    }
}

// Tokens in the longest of the measured texts.
int64_t context_for(const BenchOptions& bench) {
    const int64_t begun = bench.depth > 0 ? bench.depth : 1;
    const int64_t prompt = bench.prompt > 0 ? bench.depth + bench.prompt : 0;
    return std::max({int64_t{1}, prompt, bench.generate > 0 ? begun + bench.generate : 0});
}

void require_context(const BenchOptions& bench, int64_t context) {
    if (context_for(bench) <= context) return;
    throw Error(fmt::format(
        "bench: what is measured takes {} tokens, which do not fit in a context of {}; ask for a larger one "
        "(-c) or for fewer tokens (-d, -p, -n)",
        context_for(bench), context));
}

double ceiling(int threads) {
    Cores cores;
    return measure_read(cores, threads > 0 ? threads : cores.usable());
}

}  // namespace

Rate summarise(std::vector<double> values) {
    std::ranges::sort(values);
    const size_t n = values.size();
    const double median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return {median, values.front(), values.back()};
}

void validate(const BenchOptions& bench) {
    if (bench.prompt < 0 || bench.generate < 0 || bench.depth < 0 || bench.prompt + bench.generate == 0) {
        throw Error("bench: expected at least one token to process (-p) or to generate (-n)");
    }
    if (bench.repetitions < 1) throw Error("bench: expected at least one repetition (-r)");
}

BenchResult bench(const engine::EngineOptions& options, const BenchOptions& bench) {
    validate(bench);
    BenchResult result;
    result.read_ceiling_before = ceiling(options.threads);
    {
        forget_peak();
        engine::EngineOptions sized = options;
        if (options.context < 0) {
            sized.context = context_for(bench);
            sized.context_reason = "what is measured";
        }
        engine::Prepared prepared = engine::prepare(sized);
        require_context(bench, prepared.options.context);
        tell_start(prepared);
        engine::Engine engine(std::move(prepared));
        result.device = engine.prepared().device->describe().details;
        result.weights_bytes = total_weight_bytes(engine.model());
        result.weight_bytes_per_token = bytes_per_token(engine.prepared());
        engine.finish_pack_cache();
        ProductTest products(engine.prepared());
        if (bench.prompt > 0) products.measure_before();
        Bench run(engine, bench);
        run.warm_up();
        std::vector<double> prompt, generation;
        for (int i = 0; i < bench.repetitions; ++i) {
            if (bench.prompt > 0) prompt.push_back(run.prompt_rate());
            if (bench.generate > 0) generation.push_back(run.generation_rate());
        }
        if (!prompt.empty()) result.prompt_tps = summarise(std::move(prompt));
        if (!generation.empty()) result.generation_tps = summarise(std::move(generation));
        if (bench.generate > 0) result.greedy_checksum = run.checksum();
        result.gathered_rows = engine.gathered_rows();
        result.peak_rss_bytes = peak_resident_bytes();
        result.members = times_of_members(run, bench, engine.prepared());
        if (bench.prompt > 0) {
            products.measure_after();
            result.products = products.report(result.prompt_tps.median);
        }
    }
    result.read_ceiling_after = ceiling(options.threads);
    result.read_rate = result.generation_tps.median * static_cast<double>(result.weight_bytes_per_token);
    result.share_of_ceiling =
        result.read_rate / std::max(result.read_ceiling_before, result.read_ceiling_after);
    return result;
}

}  // namespace plait::tools
