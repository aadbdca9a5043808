#include "plait/tools/synth_arch.h"

#include <fmt/format.h>

#include <string>

#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/tools/synth_archs/list.h"

namespace plait::tools {

const SynthArch& find_synth_arch(std::string_view name) {
    std::string known;
    for (const SynthArch* arch : synth_archs()) {
        if (arch->name == name) return *arch;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", arch->name);
    }
    throw Error(fmt::format("synth cannot make the architecture {}; expected one of {}", quote(name), known));
}

}  // namespace plait::tools
