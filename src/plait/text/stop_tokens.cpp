#include "plait/text/stop_tokens.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace plait::text {
namespace {

constexpr std::array<std::string_view, 15> kTurnEnds = {
    "<|im_end|>",       // ChatML: Qwen, SmolLM, many more
    "<|endoftext|>",    // GPT-2 and its descendants
    "<|end_of_text|>",  // Llama 3
    "<|eot_id|>",       // Llama 3: end of turn
    "<|eom_id|>",       // Llama 3: end of message, waits for a tool
    "<|end|>",          // Phi-3
    "<end_of_turn>",    // Gemma
    "<eos>",            // Gemma
    "</s>",             // Llama 1 and 2, Mistral
    "<|return|>",       // Harmony
    "<|call|>",         // Harmony: waits for a tool
    "<EOT>",            // DeepSeek, CodeLlama
    "_<EOT>",           // the same, as some files spell it
    "<|endofturn|>",    // HyperCLOVA X
    "[EOS]",
};

bool is_marked(TokenType type) { return type == TokenType::Control || type == TokenType::UserDefined; }

// In Harmony <|end|> closes one of several messages of a turn; <|return|> and <|call|> close the turn.
bool speaks_harmony(const std::vector<std::string_view>& ends) {
    return std::ranges::count(ends, "<|return|>") != 0 && std::ranges::count(ends, "<|call|>") != 0;
}

}  // namespace

std::vector<int32_t> stop_tokens(const Vocabulary& vocabulary) {
    std::vector<int32_t> stops;
    std::vector<std::string_view> texts;
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
        const std::string_view text = vocabulary.bytes(id);
        if (!is_marked(vocabulary.type(id)) || std::ranges::count(kTurnEnds, text) == 0) continue;
        stops.push_back(id);
        texts.push_back(text);
    }
    if (speaks_harmony(texts))
        std::erase_if(stops, [&](int32_t id) { return vocabulary.bytes(id) == "<|end|>"; });
    for (const auto id : {vocabulary.ids().eos, vocabulary.ids().eot, vocabulary.ids().eom})
        if (id) stops.push_back(*id);
    std::ranges::sort(stops);
    stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
    return stops;
}

}  // namespace plait::text
