#pragma once

#include <string>
#include <vector>

#include "plait/engine/prepared.h"

// What a run says before it reads the weights.
namespace plait::tools {

// One line per member (device, share of the model, bytes), one for mode and transport and why, one for the
// context.
std::string start_text(const engine::Prepared& prepared);

// What is likely not meant: members that have a share of nothing, or no query heads in some layers, and one
// that makes all others wait.
std::vector<std::string> start_warnings(const engine::Prepared& prepared);

// Logs both.
void tell_start(const engine::Prepared& prepared);

}  // namespace plait::tools
