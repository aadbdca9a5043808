#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plait/engine/text_run.h"
#include "plait/sample/params.h"

namespace plait::engine {

struct GenerateOptions {
    sample::Params sampling;
    int64_t max_tokens = 128;  // -1: until the context is full
    std::vector<int32_t>
        end_tokens;  // generation stops at any of them; the token itself is not part of the text
    bool keep_cache = true;
};

enum class StopReason : uint8_t {
    end_token,     // the model ended its turn
    limit,         // max_tokens
    context_full,  // no room for another token
    interrupted,   // cancelled through Engine::stop()
};
const char* stop_reason_name(StopReason reason);

struct Generation {
    StopReason reason = StopReason::limit;
    int64_t prompt_tokens =
        0;  // that were read now: fewer than given when interrupted, or when some were kept
    int64_t generated_tokens = 0;
    int64_t gathered_rows = 0;      // rows of logits that had to be read to choose a token (Engine::choose)
    double prompt_seconds = 0;      // until the first token was chosen, or the interruption
    double generation_seconds = 0;  // for the tokens after the first
};

// Continues a prompt of at least one token; `on_token` sees each new token as it is chosen and may cancel
// through Engine::stop(). Throws Error as TextRun::extend and Sampler do.
// `text` takes part: what it has in common with the prompt is kept, the rest forgotten and the prompt's rest
// read, so that a conversation is read once however often it is continued. Afterwards it holds prompt and new
// tokens, but for the last of them that no other followed.
Generation continue_text(TextRun& text, std::span<const int32_t> prompt, const GenerateOptions& options,
                         const std::function<void(int32_t token)>& on_token);

// The same for a text of its own.
Generation generate(Engine& engine, std::span<const int32_t> prompt, const GenerateOptions& options,
                    const std::function<void(int32_t token)>& on_token);

}  // namespace plait::engine
