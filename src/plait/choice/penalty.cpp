#include "plait/choice/penalty.h"

namespace plait::choice {

float changed(float logit, const Change& change, const Penalty& penalty) {
    const float biased = logit + change.bias;
    if (change.count == 0) return biased;
    double value = biased;
    value = value > 0 ? value / penalty.repeat : value * penalty.repeat;
    return static_cast<float>(value - change.count * penalty.frequency - penalty.presence);
}

}  // namespace plait::choice
