#pragma once

#include <cstdint>
#include <vector>

#include "plait/text/vocabulary.h"

namespace plait::text {

// The ids, ascending, at which a model has said what it had to say: those the file names (end of sequence, of
// turn, of message), and those whose text ends a turn (see is_turn_end). Pure.
std::vector<int32_t> stop_tokens(const Vocabulary& vocabulary);

}  // namespace plait::text
