#pragma once

#include "plait/base/cores.h"

namespace plait::tools {

// What sums over members that run together cost, the best of several passes: members with one worker each,
// values 2048 wide. Other work running meanwhile shows. Takes about a second and, for each member, three
// values of 512 rows.
struct SumSpeeds {
    int members = 0;
    double barrier = 0;    // seconds in which as many threads as the members have meet once
    double few_rows = 0;   // seconds for a sum of 2 rows, with all meeting for it
    double many_rows = 0;  // of 512 rows
    double rate = 0;       // of those, bytes per second: every member's term read and result written
};

SumSpeeds measure_sums(Cores& cores, int members);

}  // namespace plait::tools
