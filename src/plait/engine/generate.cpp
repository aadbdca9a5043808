#include "plait/engine/generate.h"

#include <algorithm>
#include <chrono>

#include "plait/base/error.h"
#include "plait/sample/sampler.h"

namespace plait::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// How many tokens of the prompt, but never its last one (whose logits are wanted), a text begins with.
int64_t common_tokens(std::span<const int32_t> text, std::span<const int32_t> prompt) {
    const auto [end, same] = std::ranges::mismatch(text, prompt.first(prompt.size() - 1));
    return end - text.begin();
}

// The loop's state: which token came last, and why to stop.
class Generator {
  public:
    Generator(TextRun& text, const GenerateOptions& options, const std::function<void(int32_t)>& on_token)
        : options_(options),
          on_token_(on_token),
          text_(text),
          sampler_(options.sampling, static_cast<int32_t>(text.engine().vocabulary()), 0) {}

    Generation run(std::span<const int32_t> prompt) {
        for (int32_t token : prompt) sampler_.accept(token);
        Clock::time_point start = Clock::now();
        text_.truncate(common_tokens(text_.tokens(), prompt));
        const int64_t kept = text_.length();
        const int64_t gathered = text_.engine().gathered_rows();
        const bool chosen = choose_next(prompt.subspan(static_cast<size_t>(kept)));
        result_.prompt_seconds = seconds_since(start);
        result_.prompt_tokens = text_.length() - kept;
        start = Clock::now();
        result_.reason = chosen ? decode() : StopReason::interrupted;
        if (chosen) result_.generation_seconds = seconds_since(start);
        result_.gathered_rows = text_.engine().gathered_rows() - gathered;
        return result_;
    }

  private:
    StopReason decode() {
        while (true) {
            if (options_.max_tokens >= 0 && result_.generated_tokens >= options_.max_tokens)
                return StopReason::limit;
            if (std::ranges::find(options_.end_tokens, next_) != options_.end_tokens.end())
                return StopReason::end_token;
            sampler_.accept(next_);
            ++result_.generated_tokens;
            on_token_(next_);
            if (result_.generated_tokens == options_.max_tokens) return StopReason::limit;
            if (text_.length() == text_.engine().options().context) return StopReason::context_full;
            const int32_t token = next_;
            if (!choose_next({&token, 1})) return StopReason::interrupted;
        }
    }

    // False when interrupted.
    bool choose_next(std::span<const int32_t> tokens) {
        const auto token = text_.choose_next(tokens, sampler_);
        if (token) next_ = *token;
        return token.has_value();
    }

    const GenerateOptions& options_;
    const std::function<void(int32_t)>& on_token_;
    TextRun& text_;
    sample::Sampler sampler_;
    int32_t next_ = 0;
    Generation result_;
};

}  // namespace

const char* stop_reason_name(StopReason reason) {
    switch (reason) {
        case StopReason::end_token:
            return "end token";
        case StopReason::limit:
            return "limit";
        case StopReason::context_full:
            return "context full";
        case StopReason::interrupted:
            return "interrupted";
    }
    return "";
}

Generation continue_text(TextRun& text, std::span<const int32_t> prompt, const GenerateOptions& options,
                         const std::function<void(int32_t token)>& on_token) {
    if (prompt.empty()) throw Error("the prompt has no tokens; give some text (-p or -f)");
    require_room(static_cast<int64_t>(prompt.size()), 0, text.engine().options().context);
    return Generator(text, options, on_token).run(prompt);
}

Generation generate(Engine& engine, std::span<const int32_t> prompt, const GenerateOptions& options,
                    const std::function<void(int32_t token)>& on_token) {
    TextRun text(engine, options.keep_cache);
    return continue_text(text, prompt, options, on_token);
}

}  // namespace plait::engine
