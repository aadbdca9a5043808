#include "../commands.h"
#include "../parse.h"
#include "../session.h"
#include "plait/tools/reports.h"

namespace plait::app {

void bench(const BenchCommand& command) {
    const engine::EngineOptions engine = engine_options(command.common);
    tools::BenchOptions options = command.bench;
    options.keep_cache = command.common.keep_cache;
    as_usage([&] { tools::validate(options); });
    ReportFile report(command.common.report);
    verify_model(command.common);
    const tools::BenchResult result = tools::bench(engine, options);
    write_stdout(command.json ? tools::bench_json(result) + "\n" : tools::bench_text(result));
    if (report.wanted()) report.write(tools::bench_json(result));
}

}  // namespace plait::app
