#include "../commands.h"
#include "../parse.h"
#include "../session.h"
#include "plait/tools/plan_report.h"

namespace plait::app {

void plan(const PlanCommand& command) {
    const engine::Prepared prepared = engine::prepare(engine_options(command.common));
    const tools::PlanReport report = tools::plan_report(prepared);
    write_stdout(command.json ? tools::plan_json(report) + "\n" : tools::plan_text(report));
    if (!command.common.report.empty()) write_text_file(command.common.report, tools::plan_json(report));
    if (!command.budget.empty()) tools::check_budgets(report, parse_byte_list(command.budget));
}

}  // namespace plait::app
