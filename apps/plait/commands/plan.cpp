#include <fmt/format.h>

#include "plait/tools/plan_report.h"

#include "../commands.h"
#include "../parse.h"
#include "../session.h"

namespace plait::app {

void plan(const PlanCommand& command) {
    ReportFile file(command.common.report);
    const engine::Prepared prepared = engine::prepare(engine_options(command.common));
    verify_model(command.common);
    const tools::PlanReport report = tools::plan_report(prepared);
    if (!command.budgets.empty() && command.budgets.size() != report.members.size())
        throw UsageError(fmt::format("--budget names {} members, the plan has {}", command.budgets.size(),
                                     report.members.size()));
    write_stdout(command.json ? tools::plan_json(report) + "\n" : tools::plan_text(report));
    if (file.wanted()) file.write(tools::plan_json(report));
    tools::check_budgets(report, command.budgets);
}

}  // namespace plait::app
