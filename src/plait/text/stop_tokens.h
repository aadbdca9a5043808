#pragma once

#include <cstdint>
#include <vector>

#include "plait/text/vocabulary.h"

namespace plait::text {

// The ids, ascending, at which a model has said what it had to say: those the file names (end of sequence, of
// turn, of message), and control or user-defined tokens with one of the texts that model families end their
// turns with (files often name only one of several). Pure.
std::vector<int32_t> stop_tokens(const Vocabulary& vocabulary);

}  // namespace plait::text
