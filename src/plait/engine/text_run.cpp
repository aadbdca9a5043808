#include "plait/engine/text_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plait/base/error.h"

namespace plait::engine {

namespace {

std::vector<int32_t> room_for(int64_t tokens) {
    std::vector<int32_t> ids;
    ids.reserve(static_cast<size_t>(tokens));
    return ids;
}

}  // namespace

TextRun::TextRun(Engine& engine, bool keep_cache)
    : engine_(engine),
      keep_cache_(keep_cache),
      history_(room_for(engine.options().context)),
      sequence_(engine.create_sequence()) {}

TextRun::~TextRun() { engine_.release_sequence(sequence_); }

void require_room(int64_t tokens, int64_t length, int64_t context) {
    if (length + tokens <= context) return;
    throw Error(
        fmt::format("{} tokens behind {} do not fit in a context of {}; ask for a larger one (-c) or shorten "
                    "the text (--truncate-prompt)",
                    tokens, length, context));
}

template <class After>
Outcome TextRun::feed(std::span<const int32_t> tokens, Logits wanted, const sample::Sampler* sampler,
                      After after) {
    const EngineOptions& limits = engine_.options();
    int64_t most = limits.micro_batch;
    if (wanted == Logits::all) most = std::min(most, limits.max_outputs);
    while (!tokens.empty()) {
        const size_t now = std::min(tokens.size(), static_cast<size_t>(most));
        const bool is_last = now == tokens.size();
        Feed part{.sequence = sequence_, .tokens = tokens.first(now), .logits = wanted};
        if (is_last) part.sampler = sampler;
        if (wanted == Logits::last && !is_last) part.logits = Logits::none;
        if (engine_.step({&part, 1}) == Outcome::cancelled) return Outcome::cancelled;
        history_.insert(history_.end(), part.tokens.begin(), part.tokens.end());
        after();
        tokens = tokens.subspan(now);
    }
    return Outcome::done;
}

Outcome TextRun::prepare(std::span<const int32_t> tokens) {
    const int64_t context = engine_.options().context;
    require_room(static_cast<int64_t>(tokens.size()), length(), context);
    if (keep_cache_) return Outcome::done;
    start_over();
    if (history_.empty()) return Outcome::done;
    const std::vector<int32_t> former = std::exchange(history_, room_for(context));
    return feed(former, Logits::none, nullptr, [] {});
}

Outcome TextRun::extend(std::span<const int32_t> tokens, Logits wanted, const RowFn& on_row) {
    if (prepare(tokens) == Outcome::cancelled) return Outcome::cancelled;
    return feed(tokens, wanted, nullptr, [&] {
        for (int64_t row = 0; row < engine_.logit_rows(); ++row) on_row(engine_.logits(row));
    });
}

std::optional<int32_t> TextRun::choose_next(std::span<const int32_t> tokens, sample::Sampler& sampler) {
    if (prepare(tokens) == Outcome::cancelled) return std::nullopt;
    if (feed(tokens, Logits::last, &sampler, [] {}) == Outcome::cancelled) return std::nullopt;
    return engine_.choose(0, sampler);
}

void TextRun::truncate(int64_t tokens) {
    if (tokens < engine_.shortest_cut(sequence_)) tokens = 0;
    if (tokens >= length()) return;
    engine_.truncate_sequence(sequence_, std::min(tokens, engine_.length(sequence_)));
    history_.resize(static_cast<size_t>(tokens));
}

void TextRun::start_over() { engine_.truncate_sequence(sequence_, 0); }

}  // namespace plait::engine
