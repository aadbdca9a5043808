#pragma once

#include <memory>

#include "plait/models/model.h"

// Architectures that are a DecoderForm, each in a file of its name.
namespace plait::models {

// Command R and R+ (Cohere 2024).
std::unique_ptr<Model> load_command_r(const gguf::File& file, const ModelOptions& options);
// GPT-2 (Radford et al. 2019).
std::unique_ptr<Model> load_gpt2(const gguf::File& file, const ModelOptions& options);
// GPT-NeoX (Black et al. 2022) and Pythia (Biderman et al. 2023).
std::unique_ptr<Model> load_gptneox(const gguf::File& file, const ModelOptions& options);
// Granite 3 (IBM 2024), dense.
std::unique_ptr<Model> load_granite(const gguf::File& file, const ModelOptions& options);
// Llama (Touvron et al. 2023) and models of its form, dense or with experts (Mixtral, Jiang et al. 2024).
std::unique_ptr<Model> load_llama(const gguf::File& file, const ModelOptions& options);
// MPT (MosaicML 2023).
std::unique_ptr<Model> load_mpt(const gguf::File& file, const ModelOptions& options);
// OLMoE (Muennighoff et al. 2024).
std::unique_ptr<Model> load_olmoe(const gguf::File& file, const ModelOptions& options);
// Phi 3 and 4 (Abdin et al. 2024), dense.
std::unique_ptr<Model> load_phi3(const gguf::File& file, const ModelOptions& options);
// Qwen 1.5 to 2.5 (Yang et al. 2024), dense.
std::unique_ptr<Model> load_qwen2(const gguf::File& file, const ModelOptions& options);
// Their mixtures of experts.
std::unique_ptr<Model> load_qwen2moe(const gguf::File& file, const ModelOptions& options);
// Qwen 3 (Yang et al. 2025), dense.
std::unique_ptr<Model> load_qwen3(const gguf::File& file, const ModelOptions& options);
// Their mixtures of experts.
std::unique_ptr<Model> load_qwen3moe(const gguf::File& file, const ModelOptions& options);
// SmolLM3 (Hugging Face 2025).
std::unique_ptr<Model> load_smollm3(const gguf::File& file, const ModelOptions& options);
// StarCoder 2 (Lozhkov et al. 2024).
std::unique_ptr<Model> load_starcoder2(const gguf::File& file, const ModelOptions& options);

}  // namespace plait::models
