#include "plait/tools/synth.h"

#include <fmt/format.h>

#include "../commands.h"
#include "../parse.h"
#include "plait/base/log.h"

namespace plait::app {

void synth(const SynthCommand& command) {
    const tools::SynthOptions options{.arch = command.arch,
                                      .size = command.size,
                                      .type = command.type,
                                      .out = command.out,
                                      .seed = command.seed.value_or(0)};
    as_usage([&] { tools::check_synth(options); });
    const tools::SynthResult result = tools::synth(options);
    log_info(fmt::format("{}: {} parameters, {} bytes", command.out, result.parameters, result.bytes));
    if (!result.note.empty()) log_info(result.note);
}

}  // namespace plait::app
