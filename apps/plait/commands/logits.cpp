#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../commands.h"
#include "../session.h"
#include "plait/base/npy.h"
#include "plait/tools/greedy_logits.h"
#include "plait/tools/reports.h"

namespace plait::app {

void logits(const LogitsCommand& command) {
    engine::EngineOptions options = engine_options(command.common);
    // Every row of a step may be wanted.
    options.max_outputs = std::min(options.micro_batch, options.batch);
    options.candidates = 0;  // it is the logits that are wanted
    ReportFile report(command.common.report);
    engine::Prepared prepared = prepare_model(command.common, options);
    refuse_overwriting(command.out, prepared.file);
    NpyWriter out(command.out, static_cast<int64_t>(command.tokens.size()) + command.greedy,
                  prepared.model->summary().vocabulary);
    const auto engine = load_engine(std::move(prepared));
    const InterruptGuard guard(engine->stop());
    const std::vector<int32_t> greedy =
        tools::greedy_logits(*engine, command.tokens, command.greedy, command.common.keep_cache,
                             [&](std::span<const float> row) { out.append(row); });
    out.commit();
    write_stdout(fmt::format("{{\"greedy\":[{}]}}\n", fmt::join(greedy, ",")));
    if (report.wanted()) report.write(tools::logits_json(engine->prepared(), command.tokens.size(), greedy));
}

}  // namespace plait::app
