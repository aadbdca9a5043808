#include "../commands.h"
#include "../session.h"
#include "plait/tools/reports.h"

namespace plait::app {

void bench(const BenchCommand& command) {
    const tools::BenchResult result = tools::bench(engine_options(command.common), command.bench);
    write_stdout(command.json ? tools::bench_json(result) + "\n" : tools::bench_text(result));
    if (!command.common.report.empty()) write_text_file(command.common.report, tools::bench_json(result));
}

}  // namespace plait::app
