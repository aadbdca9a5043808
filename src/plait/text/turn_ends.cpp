#include "plait/text/turn_ends.h"

#include <algorithm>
#include <array>

namespace plait::text {
namespace {

constexpr std::array<std::string_view, 25> kTurnEnds = {
    "<|im_end|>",                               // ChatML: Qwen, SmolLM, many more
    "<|endoftext|>",                            // GPT-2 and its descendants
    "<|end_of_text|>",                          // Llama 3, Granite
    "<|eot_id|>",                               // Llama 3: end of turn
    "<|eom_id|>",                               // Llama 3: end of message, waits for a tool
    "<|eot|>",                                  // Llama 4
    "<|eom|>",                                  // Llama 4
    "<|end|>",                                  // Phi-3
    "<end_of_turn>",                            // Gemma
    "<eos>",                                    // Gemma
    "</s>",                                     // Llama 1 and 2, Mistral
    "<|return|>",                               // Harmony
    "<|call|>",                                 // Harmony: waits for a tool
    "<|flush|>",                                // Solar
    "<|calls|>",                                // Solar: waits for tools
    "<EOT>",                                    // DeepSeek Coder, Code Llama
    "_<EOT>",                                   // the same, as some files spell it
    "[EOT]",                                    // Kimi
    "[EOS]",                                    // Kimi
    "[e~[",                                     // MiniMax
    "<|fim_pad|>",                              // Qwen: no more to fill in
    "<|repo_name|>",                            // Qwen: another repository begins
    "<|file_sep|>",                             // Qwen: another file begins
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",  // DeepSeek
    "<end_of_utterance>",                       // SmolDocling
};

}  // namespace

bool is_turn_end(std::string_view text) { return std::ranges::find(kTurnEnds, text) != kTurnEnds.end(); }

}  // namespace plait::text
