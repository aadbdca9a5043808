#include "plait/models/list.h"

#include <array>

#include "plait/models/gemma2.h"
#include "plait/models/gemma3.h"
#include "plait/models/gpt2.h"
#include "plait/models/gpt_oss.h"
#include "plait/models/llama.h"

namespace plait::models {

std::span<const Architecture> architectures() {
    static constexpr std::array kArchitectures{
        Architecture{"gemma2", load_gemma2},   Architecture{"gemma3", load_gemma3},
        Architecture{"gpt-oss", load_gpt_oss}, Architecture{"gpt2", load_gpt2},
        Architecture{"llama", load_llama},
    };
    return kArchitectures;
}

}  // namespace plait::models
