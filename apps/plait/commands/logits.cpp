#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../commands.h"
#include "../parse.h"
#include "../session.h"
#include "plait/base/error.h"
#include "plait/base/npy.h"
#include "plait/tools/greedy_logits.h"

namespace plait::app {

void logits(const LogitsCommand& command) {
    const std::vector<int32_t> tokens = parse_ids(command.tokens);
    if (tokens.empty()) throw Error("--tokens names no token");
    engine::EngineOptions options = engine_options(command.common);
    // Every row of a step may be wanted.
    options.max_outputs = std::min(options.micro_batch, options.batch);
    const auto engine = load_engine(command.common, options);
    const InterruptGuard guard(engine->stop());
    NpyWriter out(command.out, static_cast<int64_t>(tokens.size()) + command.greedy, engine->vocabulary());
    const std::vector<int32_t> greedy =
        tools::greedy_logits(*engine, tokens, command.greedy, command.common.keep_cache,
                             [&](std::span<const float> row) { out.append(row); });
    out.commit();
    write_stdout(fmt::format("{{\"greedy\":[{}]}}\n", fmt::join(greedy, ",")));
}

}  // namespace plait::app
