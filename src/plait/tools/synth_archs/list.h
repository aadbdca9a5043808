#pragma once

#include <span>

#include "plait/tools/synth_arch.h"

namespace plait::tools {

extern const SynthArch kSynthCommandR;
extern const SynthArch kSynthGemma2;
extern const SynthArch kSynthGemma3;
extern const SynthArch kSynthGpt2;
extern const SynthArch kSynthGptNeox;
extern const SynthArch kSynthGptOss;
extern const SynthArch kSynthGranite;
extern const SynthArch kSynthLlama;
extern const SynthArch kSynthMpt;
extern const SynthArch kSynthOlmoe;
extern const SynthArch kSynthPhi3;
extern const SynthArch kSynthQwen2;
extern const SynthArch kSynthQwen2moe;
extern const SynthArch kSynthQwen3;
extern const SynthArch kSynthQwen3moe;
extern const SynthArch kSynthSmollm3;
extern const SynthArch kSynthStarcoder2;

// Every architecture synth can make, by name.
std::span<const SynthArch* const> synth_archs();

}  // namespace plait::tools
