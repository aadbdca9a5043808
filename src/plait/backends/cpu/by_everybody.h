#pragma once

#include "plait/backends/cpu/drafts.h"

namespace plait::backends::cpu {

// Work that every worker does for itself when there are few tokens. Steps that alone stand between two
// barriers are done so, and the barrier behind them is not needed then. Adds the storages of the workers'
// copies to `bytes`.
void do_by_everybody(std::span<Draft> drafts, std::vector<int64_t>& bytes, int32_t workers);

}  // namespace plait::backends::cpu
