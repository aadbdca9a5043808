#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/base/cancel.h"
#include "plait/engine/prepared.h"
#include "plait/engine/slot.h"
#include "plait/load/weights.h"
#include "plait/sample/sampler.h"
#include "plait/state/paged_state.h"

namespace plait::engine {

using SequenceId = state::SequenceId;

// Which of a feed's tokens get logits.
enum class Logits : uint8_t { none, last, all };

// Tokens to append to one sequence in a step.
struct Feed {
    SequenceId sequence = 0;
    std::span<const int32_t> tokens;
    Logits logits = Logits::last;
    // Chooses the token behind the last one, whose logits are wanted for nothing else (Engine::choose).
    const sample::Sampler* sampler = nullptr;
};

enum class Outcome : uint8_t { done, cancelled };

// A loaded model with its state, run step by step. A step either commits or leaves no trace: after an Error
// or a cancellation the next step gives the bits it would have given. Everything is reserved at construction;
// steps allocate nothing. One thread at a time, except stop().
class Engine {
  public:
    // Takes memory and loads the weights; those that were packed begin to be written to the cache, if there
    // is to be one. Throws Error when the model does not fit, naming what it needs and what is free.
    // `progress` is called during construction with bytes done and in all.
    using LoadProgress = std::function<void(int64_t done, int64_t total)>;
    explicit Engine(Prepared prepared, const LoadProgress& progress = {});
    explicit Engine(const EngineOptions& options) : Engine(prepare(options)) {}
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Sequences: at most options().max_sequences at a time; throws Error when all are in use.
    SequenceId create_sequence() { return state_.create(); }
    // A new sequence that begins with the parent's first tokens, sharing their pages.
    SequenceId fork_sequence(SequenceId parent, int64_t tokens) { return state_.fork(parent, tokens); }
    void truncate_sequence(SequenceId sequence, int64_t tokens) { state_.truncate(sequence, tokens); }
    // The fewest tokens, besides none, that fork and truncate accept: a model with windows has forgotten what
    // lies behind them. Whoever wants fewer cuts to none and feeds the beginning again.
    int64_t shortest_cut(SequenceId sequence) const { return state_.shortest_cut(sequence); }
    void release_sequence(SequenceId sequence) { state_.release(sequence); }
    int64_t length(SequenceId sequence) const { return state_.length(sequence); }

    // Appends the feeds' tokens, a sequence at most once, at most options().micro_batch tokens in all. Throws
    // Error when a token id, the context, pages or the limits do not allow it, or the device fails.
    Outcome step(std::span<const Feed> feeds);
    // Logits of the last step, [vocabulary] per row, in the order of feeds and tokens; no rows when it was
    // not done. Valid until the next step, unless all of its feeds had samplers.
    std::span<const float> logits(int64_t row) const;
    int64_t logit_rows() const { return logit_rows_; }
    // The token that the sampler of that row's feed chooses; it is not accepted yet. From what the members
    // answered, or from the row of logits where that does not tell, which is read then. At most once a row.
    // Throws Error as Sampler::sample does, or when the device fails.
    int32_t choose(int64_t row, sample::Sampler& sampler);
    // How many rows had to be read so.
    int64_t gathered_rows() const { return gathered_rows_; }

    // Setting the word (cancel() from any thread or signal handler) ends the step in progress, or the next
    // one, as cancelled; that step clears it.
    StopWord& stop() { return stop_; }

    // Returns when no packed weights are being written to the cache any more, which may take a core's time
    // and the disk's. Destruction does the same.
    void finish_pack_cache();

    const EngineOptions& options() const { return prepared_.options; }
    const Prepared& prepared() const { return prepared_; }
    const models::Model& model() const { return *prepared_.model; }
    // Bytes of memory that each member of the device holds, as its buffers say.
    std::vector<int64_t> stored_bytes() const;
    int64_t vocabulary() const { return prepared_.model->summary().vocabulary; }
    int64_t free_pages(int group) const { return state_.free_pages(group); }
    int64_t pages_in_use(int group) const { return state_.pages_in_use(group); }

  private:
    void check(std::span<const Feed> feeds) const;
    ir::Capacity count(std::span<const Feed> feeds) const;
    void fill_tokens(ir::StepView& view, std::span<const Feed> feeds);
    static void fill_groups(ir::StepView& view, const state::Step& step);
    void fill_choices(ir::StepView& view, std::span<const Feed> feeds);
    void read_outputs(Slot& slot, std::span<const Feed> feeds, int64_t rows);
    choice::Slice answer(int64_t row);
    int64_t logit_bytes() const { return vocabulary() * static_cast<int64_t>(sizeof(float)); }
    void run(size_t capacity, Slot& slot);
    void show(size_t capacity, Slot& slot, int segment);
    bool take_cancellation();
    void settle_after_error() noexcept;

    Prepared prepared_;
    std::unique_ptr<device::Stream> stream_;
    load::Weights weights_;
    std::unique_ptr<load::PackCacheWriter> pack_cache_writer_;  // ends before the weights do
    std::unique_ptr<device::Buffer> state_memory_;
    state::PagedState state_;
    std::vector<std::unique_ptr<Slot>> slots_;
    size_t next_slot_ = 0;
    StopWord stop_;
    std::vector<state::Append> appends_;
    std::vector<float> logits_;
    std::vector<float> shown_;
    int64_t logit_rows_ = 0;
    Slot* last_slot_ = nullptr;       // of the last step
    int64_t slices_ = 0;              // that a row's answers are for; 0: nothing is asked
    std::vector<int64_t> positions_;  // by row: of the token to choose
    std::vector<std::byte> answers_;  // by row and slice
    std::vector<std::byte> joined_;
    int64_t gathered_rows_ = 0;
};

}  // namespace plait::engine
