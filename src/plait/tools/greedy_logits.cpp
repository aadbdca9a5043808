#include "plait/tools/greedy_logits.h"

#include <fmt/format.h>

#include "plait/base/error.h"
#include "plait/choice/candidates.h"
#include "plait/engine/text_run.h"

namespace plait::tools {
namespace {

void refuse_what_does_not_fit(int64_t context, int64_t tokens, int64_t greedy) {
    if (tokens <= context && greedy <= context - tokens) return;
    throw Error(
        fmt::format("{} tokens and {} greedy ones do not fit in a context of {}; ask for a larger one (-c)",
                    tokens, greedy, context));
}

}  // namespace

std::vector<int32_t> greedy_logits(engine::Engine& engine, std::span<const int32_t> tokens, int64_t greedy,
                                   bool keep_cache,
                                   const std::function<void(std::span<const float>)>& on_row) {
    refuse_what_does_not_fit(engine.options().context, static_cast<int64_t>(tokens.size()), greedy);
    engine::TextRun text(engine, keep_cache);
    int32_t best = 0;
    const auto see = [&](std::span<const float> logits) {
        best = choice::best_candidate(logits, 0).id;
        on_row(logits);
    };
    const auto extend = [&](std::span<const int32_t> ids) {
        if (text.extend(ids, engine::Logits::all, see) == engine::Outcome::cancelled)
            throw Error("logits: interrupted");
    };
    extend(tokens);
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < greedy; ++i) {
        ids.push_back(best);
        extend({&ids.back(), 1});
    }
    return ids;
}

}  // namespace plait::tools
