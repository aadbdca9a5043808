#include "plait/models/list.h"

#include <array>

#include "plait/models/gpt2.h"
#include "plait/models/llama.h"

namespace plait::models {

std::span<const Architecture> architectures() {
    static constexpr std::array kArchitectures{
        Architecture{"gpt2", load_gpt2},
        Architecture{"llama", load_llama},
    };
    return kArchitectures;
}

}  // namespace plait::models
