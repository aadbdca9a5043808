#include "plait/text/stop_tokens.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "plait/text/turn_ends.h"

namespace plait::text {
namespace {

// Formats whose turns have several messages, known by the tokens that close a turn: <|end|> only closes one
// of the messages.
struct ManyMessages {
    std::string_view turn_end;
    std::string_view tool_call;
};
constexpr std::array kManyMessages = {
    ManyMessages{"<|return|>", "<|call|>"},  // Harmony
    ManyMessages{"<|flush|>", "<|calls|>"},  // Solar
};

void keep_messages_together(const Vocabulary& vocabulary, std::vector<int32_t>& stops) {
    const auto has = [&](std::string_view text) {
        return std::ranges::any_of(stops, [&](int32_t id) { return vocabulary.bytes(id) == text; });
    };
    for (const ManyMessages& format : kManyMessages)
        if (has(format.turn_end) && has(format.tool_call))
            std::erase_if(stops, [&](int32_t id) { return vocabulary.bytes(id) == "<|end|>"; });
}

}  // namespace

std::vector<int32_t> stop_tokens(const Vocabulary& vocabulary) {
    std::vector<int32_t> stops;
    for (int32_t id = 0; id < vocabulary.size(); ++id)
        if (vocabulary.type(id) == TokenType::Control && is_turn_end(vocabulary.bytes(id)))
            stops.push_back(id);
    keep_messages_together(vocabulary, stops);
    for (const auto id : {vocabulary.ids().eos, vocabulary.ids().eot, vocabulary.ids().eom})
        if (id) stops.push_back(*id);
    std::ranges::sort(stops);
    stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
    return stops;
}

}  // namespace plait::text
