#include "plait/tools/synth_archs/list.h"

namespace plait::tools {

std::span<const SynthArch* const> synth_archs() {
    static constexpr const SynthArch* kArchs[] = {
        &kSynthCommandR, &kSynthGemma2, &kSynthGemma3,   &kSynthGptOss,  &kSynthGpt2,      &kSynthGptNeox,
        &kSynthGranite,  &kSynthLlama,  &kSynthMpt,      &kSynthOlmoe,   &kSynthPhi3,      &kSynthQwen2,
        &kSynthQwen2moe, &kSynthQwen3,  &kSynthQwen3moe, &kSynthSmollm3, &kSynthStarcoder2};
    return kArchs;
}

}  // namespace plait::tools
