#include "plait/sample/params.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "plait/base/error.h"

namespace plait::sample {
namespace {

void require(bool holds, const char* flag, const char* rule, double found) {
    if (!holds) throw Error(fmt::format("{} must be {}, got {}", flag, rule, found));
}

}  // namespace

void validate(const Params& params) {
    require(params.repeat_penalty >= kMinRepeatPenalty && params.repeat_penalty <= kMaxPenalty,
            "--repeat-penalty", "from 0.000001 to 1000000", params.repeat_penalty);
    require(params.repeat_last_n >= -1 && params.repeat_last_n <= kMaxRepeatLastN, "--repeat-last-n",
            "-1 (the whole text) or from 0 to 1048576", params.repeat_last_n);
    require(std::abs(params.presence_penalty) <= kMaxPenalty, "--presence-penalty",
            "from -1000000 to 1000000", params.presence_penalty);
    require(std::abs(params.frequency_penalty) <= kMaxPenalty, "--frequency-penalty",
            "from -1000000 to 1000000", params.frequency_penalty);
    require(params.top_p >= 0, "--top-p", "0 or more (1 turns it off)", params.top_p);
    require(params.min_p <= 1, "--min-p", "at most 1 (0 turns it off)", params.min_p);
    require(params.temperature <= kMaxTemperature, "--temp", "at most 1000000 (0 is greedy)",
            params.temperature);
    for (const LogitBias& bias : params.biases) {
        const bool masks = bias.bias == -std::numeric_limits<float>::infinity();
        require(masks || std::abs(bias.bias) <= kMaxBias, "a logit bias",
                "from -1000000 to 1000000, or -inf to mask its token", bias.bias);
    }
}

}  // namespace plait::sample
