#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "plait/engine/engine.h"

namespace plait::engine {

// Throws Error unless `tokens` more tokens fit behind a text of `length` in the context.
void require_room(int64_t tokens, int64_t length, int64_t context);

// One text in an engine: its sequence, fed in micro-batches of any length. One thread at a time.
class TextRun {
  public:
    // Called for each row of logits in order; valid during the call.
    using RowFn = std::function<void(std::span<const float> logits)>;

    // With keep_cache = false every extend() recomputes the whole text into fresh state: the reference that
    // cached runs are compared with.
    explicit TextRun(Engine& engine, bool keep_cache = true);
    ~TextRun();
    TextRun(const TextRun&) = delete;
    TextRun& operator=(const TextRun&) = delete;

    // Appends tokens; `on_row` sees the logits that `wanted` asks for, of these tokens only. After a
    // cancellation or an Error the text is as long as the steps that were done made it. Throws Error when the
    // context would overflow, before anything is run.
    Outcome extend(std::span<const int32_t> tokens, Logits wanted, const RowFn& on_row);

    // Appends at least one token; returns the one that the sampler chooses to follow, which it has not
    // accepted yet, or none after a cancellation. Otherwise as extend().
    std::optional<int32_t> choose_next(std::span<const int32_t> tokens, sample::Sampler& sampler);

    // Forgets all but the first `tokens` tokens, or all where the state cannot be cut back so far (windows).
    void truncate(int64_t tokens);

    Engine& engine() const { return engine_; }
    std::span<const int32_t> tokens() const { return history_; }
    int64_t length() const { return static_cast<int64_t>(history_.size()); }

  private:
    // Recomputes what there was, where nothing is kept.
    Outcome prepare(std::span<const int32_t> tokens);
    // Step by step; `after` is called behind each.
    template <class After>
    Outcome feed(std::span<const int32_t> tokens, Logits wanted, const sample::Sampler* sampler, After after);
    void start_over();

    Engine& engine_;
    const bool keep_cache_;
    std::vector<int32_t> history_;
    SequenceId sequence_;  // made last: nothing after it can fail and leave it behind
};

}  // namespace plait::engine
