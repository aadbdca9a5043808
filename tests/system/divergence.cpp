#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "plait/base/error.h"
#include "plait/engine/engine.h"
#include "plait/engine/text_run.h"
#include "plait/text/tokenizer.h"
#include "plait/text/vocab_from_gguf.h"

// How far the default path's distribution of the next token lies from that of the exact path, on real text:
//
//     divergence MODEL TEXT_FILE TOKENS CHUNK
//
// The text's first TOKENS tokens are fed in chunks, each from an empty context, to an engine with the default
// options and to one with F32 activations and an F32 cache. Prints the mean and the largest KL divergence
// KL(exact || default) over all positions, in nats, and how often both find the same best token.
namespace plait::system_test {
namespace {

struct Request {
    std::string model;
    std::string text_file;
    int64_t tokens = 0;
    int64_t chunk = 0;
};

struct Divergence {
    double sum = 0;
    double largest = 0;
    int64_t positions = 0;
    int64_t same_best = 0;
};

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(fmt::format("could not open {}", path));
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<int32_t> first_tokens(const engine::Engine& engine, const Request& request) {
    const text::Tokenizer tokenizer(text::vocab_from_gguf(engine.prepared().file));
    std::vector<int32_t> ids = tokenizer.encode(read_text(request.text_file));
    if (static_cast<int64_t>(ids.size()) < request.tokens)
        throw Error(
            fmt::format("expected a text of {} tokens at least, found {}", request.tokens, ids.size()));
    ids.resize(static_cast<size_t>(request.tokens));
    return ids;
}

engine::EngineOptions options_of(const Request& request, bool exact) {
    engine::EngineOptions options{.model = request.model, .exact = exact};
    options.context = request.chunk;
    options.batch = options.micro_batch = request.chunk;
    options.max_outputs = request.chunk;
    if (exact) options.key_type = options.value_type = dtype::DType::F32;
    return options;
}

std::vector<float> logits_of(engine::Engine& engine, std::span<const int32_t> ids) {
    std::vector<float> logits;
    engine::TextRun run(engine);
    run.extend(ids, engine::Logits::all,
               [&](std::span<const float> row) { logits.insert(logits.end(), row.begin(), row.end()); });
    return logits;
}

double log_of_sum(std::span<const float> logits, double largest) {
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit - largest);
    return largest + std::log(sum);
}

void add_position(std::span<const float> exact, std::span<const float> fast, Divergence& total) {
    const auto best_exact = std::ranges::max_element(exact);
    const auto best_fast = std::ranges::max_element(fast);
    const double norm_exact = log_of_sum(exact, *best_exact);
    const double norm_fast = log_of_sum(fast, *best_fast);
    double divergence = 0;
    for (size_t id = 0; id < exact.size(); ++id) {
        const double log_p = exact[id] - norm_exact;
        divergence += std::exp(log_p) * (log_p - (fast[id] - norm_fast));
    }
    total.sum += divergence;
    total.largest = std::max(total.largest, divergence);
    total.same_best += best_exact - exact.begin() == best_fast - fast.begin();
    ++total.positions;
}

Divergence measure(const Request& request) {
    engine::Engine exact(options_of(request, true));
    engine::Engine fast(options_of(request, false));
    const std::vector<int32_t> ids = first_tokens(exact, request);
    const auto vocabulary = static_cast<size_t>(exact.vocabulary());
    Divergence total;
    for (size_t begin = 0; begin < ids.size(); begin += static_cast<size_t>(request.chunk)) {
        const size_t count = std::min(ids.size() - begin, static_cast<size_t>(request.chunk));
        const std::span<const int32_t> chunk = std::span(ids).subspan(begin, count);
        const std::vector<float> expected = logits_of(exact, chunk);
        const std::vector<float> found = logits_of(fast, chunk);
        for (size_t row = 0; row < count; ++row)
            add_position(std::span(expected).subspan(row * vocabulary, vocabulary),
                         std::span(found).subspan(row * vocabulary, vocabulary), total);
    }
    return total;
}

}  // namespace
}  // namespace plait::system_test

int main(int argc, char** argv) {
    using namespace plait::system_test;
    if (argc != 5) {
        fmt::print(stderr, "usage: divergence MODEL TEXT_FILE TOKENS CHUNK\n");
        return 2;
    }
    try {
        const Request request{argv[1], argv[2], std::atoll(argv[3]), std::atoll(argv[4])};
        if (request.tokens < 1 || request.chunk < 1)
            throw plait::Error("TOKENS and CHUNK are counts from 1 on");
        const Divergence total = measure(request);
        const auto positions = static_cast<double>(total.positions);
        fmt::print("{{\"positions\":{},\"mean\":{:.6g},\"largest\":{:.6g},\"same_best\":{:.4f}}}\n",
                   total.positions, total.sum / positions, total.largest,
                   static_cast<double>(total.same_best) / positions);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
