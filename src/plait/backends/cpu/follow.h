#pragma once

#include "plait/backends/cpu/drafts.h"

namespace plait::backends::cpu {

// Makes the step a part of the drafted one that makes the last of its operands, so that it needs no barrier
// of its own, and returns true; or leaves everything as it is.
//
// Work on every value by itself follows a product value by value. Another product that makes an operand in
// the same interval is joined to that one. Work on every head by itself follows a product as soon as a head
// is whole, and other work on heads head by head.
bool follow(Drafts& drafts, Draft& draft);

}  // namespace plait::backends::cpu
