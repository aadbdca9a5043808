#include "plait/models/list.h"

#include <array>

#include "plait/models/decoders.h"
#include "plait/models/gemma2.h"
#include "plait/models/gemma3.h"
#include "plait/models/gpt_oss.h"

namespace plait::models {

std::span<const Architecture> architectures() {
    static constexpr std::array kArchitectures{
        Architecture{"command-r", load_command_r},
        Architecture{"gemma2", load_gemma2},
        Architecture{"gemma3", load_gemma3},
        Architecture{"gpt-oss", load_gpt_oss},
        Architecture{"gpt2", load_gpt2},
        Architecture{"gptneox", load_gptneox},
        Architecture{"granite", load_granite},
        Architecture{"llama", load_llama},
        Architecture{"mpt", load_mpt},
        Architecture{"olmoe", load_olmoe},
        Architecture{"phi3", load_phi3},
        Architecture{"qwen2", load_qwen2},
        Architecture{"qwen2moe", load_qwen2moe},
        Architecture{"qwen3", load_qwen3},
        Architecture{"qwen3moe", load_qwen3moe},
        Architecture{"smollm3", load_smollm3},
        Architecture{"starcoder2", load_starcoder2},
    };
    return kArchitectures;
}

}  // namespace plait::models
