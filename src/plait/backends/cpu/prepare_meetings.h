#pragma once

#include "plait/backends/cpu/drafts.h"

namespace plait::backends::cpu {

// What a member brings to a meeting stays as it is until the next one, or the end, since others read it. Each
// meeting learns which of the values made there other steps read (Step::wanted).
void prepare_meetings(std::span<Draft> drafts);

}  // namespace plait::backends::cpu
