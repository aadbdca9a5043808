#include <fmt/format.h>

#include "plait/base/log.h"
#include "plait/tools/member_file.h"
#include "plait/tools/plan_report.h"
#include "plait/tools/start.h"

#include "../commands.h"
#include "../parse.h"
#include "../session.h"

namespace plait::app {

void plan(const PlanCommand& command) {
    ReportFile file(command.common.report);
    CommonFlags flags = command.common;
    if (command.members)
        flags.engine.described = tools::parse_members(read_text_file(*command.members), *command.members);
    const engine::Prepared prepared = engine::prepare(engine_options(flags));
    for (const std::string& warning : tools::start_warnings(prepared)) log_warning(warning);
    verify_model(command.common);
    const tools::PlanReport report = tools::plan_report(prepared);
    if (!command.budgets.empty() && command.budgets.size() != report.members.size())
        throw UsageError(fmt::format("--budget: expected a size for each member, {} in all, found {}",
                                     report.members.size(), command.budgets.size()));
    write_stdout(command.json ? tools::plan_json(report) + "\n" : tools::plan_text(report));
    if (file.wanted()) file.write(tools::plan_json(report));
    tools::check_budgets(report, command.budgets);
}

}  // namespace plait::app
