#include "plait/tools/synth.h"

#include <fmt/format.h>

#include "../commands.h"
#include "plait/base/log.h"

namespace plait::app {

void synth(const SynthCommand& command) {
    const tools::SynthResult result = tools::synth({.arch = command.arch,
                                                    .size = command.size,
                                                    .type = command.type,
                                                    .out = command.out,
                                                    .seed = command.seed});
    log_info(fmt::format("{}: {} parameters, {} bytes", command.out, result.parameters, result.bytes));
    if (!result.note.empty()) log_info(result.note);
}

}  // namespace plait::app
