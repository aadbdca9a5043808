#include "plait/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/engine/device_list.h"
#include "plait/engine/ladder.h"
#include "plait/engine/memory_fit.h"

namespace plait::engine {
namespace {

std::vector<state::GroupSpec> group_specs(const Prepared& prepared) {
    std::vector<state::GroupSpec> specs;
    const auto groups = prepared.model->state_groups();
    for (size_t i = 0; i < groups.size(); ++i) {
        specs.push_back({.name = groups[i].name,
                         .page_tokens = prepared.pages[i].page_tokens,
                         .pages = prepared.pages[i].pages,
                         .window = groups[i].window});
    }
    return specs;
}

static_assert(choice::kMostSlices >= size_t{kMostDevices});

int64_t output_rows(const Feed& feed) {
    const auto tokens = static_cast<int64_t>(feed.tokens.size());
    switch (feed.logits) {
        case Logits::none:
            return 0;
        case Logits::last:
            return std::min<int64_t>(1, tokens);
        case Logits::all:
            return tokens;
    }
    return 0;
}

int64_t largest_shown(const Prepared& prepared) {
    return prepared.options.tap ? prepared.options.micro_batch * prepared.model->summary().width : 0;
}

// How many members answer for a part of each row of logits.
int64_t slices_of(const Prepared& prepared) {
    if (prepared.options.candidates == 0) return 0;
    const auto answers = static_cast<size_t>(Slot::Output::answers);
    const int64_t row_bytes = prepared.programs.front()->needs().outputs[answers].desc.slice_bytes();
    return row_bytes / choice::slice_bytes(prepared.options.candidates);
}

load::Weights loaded_weights(const Prepared& prepared, device::Stream& stream,
                             const Engine::LoadProgress& progress) {
    load::LoadOptions options = prepared.load_options();
    options.progress = progress;
    return load::load_weights(prepared.model_weights(), stream, options);
}

}  // namespace

Engine::Engine(Prepared prepared, const LoadProgress& progress)
    : prepared_((require_memory(prepared), std::move(prepared))),
      stream_(prepared_.device->make_stream()),
      weights_(loaded_weights(prepared_, *stream_, progress)),
      state_memory_(
          prepared_.device->row_buffer_type().alloc(prepared_.state_tensors(), device::Usage::state)),
      state_(group_specs(prepared_), prepared_.options.max_sequences, prepared_.options.context,
             prepared_.options.testing),
      logits_(static_cast<size_t>(prepared_.options.max_outputs * prepared_.model->summary().vocabulary)),
      shown_(static_cast<size_t>(largest_shown(prepared_))),
      slices_(slices_of(prepared_)),
      positions_(static_cast<size_t>(prepared_.options.max_outputs)),
      answers_(static_cast<size_t>(prepared_.options.max_outputs * slices_ *
                                   choice::slice_bytes(prepared_.options.candidates))),
      joined_(static_cast<size_t>(choice::slice_bytes(slices_ * prepared_.options.candidates))) {
    std::vector<device::Region> state;
    for (size_t i = 0; i < state_memory_->tensors().size(); ++i) {
        state.push_back(device::whole(*state_memory_, static_cast<int32_t>(i)));
    }
    for (int i = 0; i < prepared_.options.slots; ++i) {
        slots_.push_back(std::make_unique<Slot>(prepared_, weights_.regions, state));
    }
    appends_.reserve(static_cast<size_t>(prepared_.options.max_sequences));
    pack_cache_writer_ = prepared_.pack_cache.keep(weights_);
}

Engine::~Engine() = default;

void Engine::finish_pack_cache() { pack_cache_writer_.reset(); }

Outcome Engine::step(std::span<const Feed> feeds) {
    check(feeds);
    if (take_cancellation()) return Outcome::cancelled;
    const ir::Capacity counts = count(feeds);
    const size_t capacity = smallest_fit(prepared_.ladder, counts);
    appends_.clear();
    for (const Feed& feed : feeds)
        appends_.push_back({feed.sequence, static_cast<int64_t>(feed.tokens.size())});
    // Rolled back unless committed, whatever happens in between.
    state::Step change = state_.begin(appends_);

    Slot& slot = *slots_[next_slot_];
    next_slot_ = (next_slot_ + 1) % slots_.size();
    ir::StepView& view = slot.view(capacity);
    logit_rows_ = 0;  // the last step's are overwritten
    fill_tokens(view, feeds);
    fill_groups(view, change);
    if (slices_ > 0) fill_choices(view, feeds);
    try {
        run(capacity, slot);
        if (!stop_.stopped()) read_outputs(slot, feeds, counts.outputs);
        stream_->synchronise();
    } catch (...) {
        settle_after_error();
        throw;
    }
    if (take_cancellation()) return Outcome::cancelled;
    if (stop_.stopped()) {
        const std::string message = stop_.message();
        stop_.reset();
        throw Error(message);
    }
    change.commit();
    logit_rows_ = counts.outputs;
    last_slot_ = &slot;
    return Outcome::done;
}

// Whole rows for whoever wants them, answers for samplers.
void Engine::read_outputs(Slot& slot, std::span<const Feed> feeds, int64_t rows) {
    const auto sampled = [](const Feed& feed) { return feed.sampler != nullptr; };
    const auto wants_rows = [&](const Feed& feed) { return feed.logits != Logits::none && !sampled(feed); };
    if (rows == 0) return;
    if (std::ranges::any_of(feeds, wants_rows)) {
        const auto to = std::span(logits_).first(static_cast<size_t>(rows * vocabulary()));
        stream_->read(slot.rows(Slot::Output::logits, {0, rows}, logit_bytes()), std::as_writable_bytes(to));
    }
    if (slices_ > 0 && std::ranges::any_of(feeds, sampled)) {
        const int64_t row_bytes = slices_ * choice::slice_bytes(options().candidates);
        stream_->read(slot.rows(Slot::Output::answers, {0, rows}, row_bytes),
                      std::span(answers_).first(static_cast<size_t>(rows * row_bytes)));
    }
}

int32_t Engine::choose(int64_t row, sample::Sampler& sampler) {
    ENSURE(row >= 0 && row < logit_rows_, "a row of the last step");
    const int64_t position = positions_[static_cast<size_t>(row)];
    if (slices_ > 0) {
        if (const auto token = sampler.choose(answer(row), position)) return *token;
        ++gathered_rows_;
    }
    const auto logits = std::span(logits_).subspan(static_cast<size_t>(row * vocabulary()),
                                                   static_cast<size_t>(vocabulary()));
    stream_->read(last_slot_->rows(Slot::Output::logits, {row, 1}, logit_bytes()),
                  std::as_writable_bytes(logits));
    stream_->synchronise();
    return sampler.sample(logits, position);
}

choice::Slice Engine::answer(int64_t row) {
    const int64_t count = options().candidates, bytes = choice::slice_bytes(count);
    const auto slice = [&](int64_t i) {
        return choice::Slice(answers_.data() + (row * slices_ + i) * bytes, count);
    };
    if (slices_ == 1) return slice(0);
    std::array<choice::Slice, choice::kMostSlices> slices;
    for (int64_t i = 0; i < slices_; ++i) slices[static_cast<size_t>(i)] = slice(i);
    const choice::Slice joined(joined_.data(), slices_ * count);
    choice::join(std::span(slices).first(static_cast<size_t>(slices_)), slices_ * count, joined);
    return joined;
}

std::span<const float> Engine::logits(int64_t row) const {
    return std::span(logits_).subspan(static_cast<size_t>(row * vocabulary()),
                                      static_cast<size_t>(vocabulary()));
}

std::vector<int64_t> Engine::stored_bytes() const {
    std::vector<int64_t> bytes(prepared_.members.size());
    const auto add = [&](const device::Buffer& buffer) {
        const std::vector<int64_t> held = buffer.member_stored_bytes();
        for (size_t member = 0; member < held.size(); ++member) bytes[member] += held[member];
    };
    for (const auto& buffer : weights_.buffers) add(*buffer);
    add(*state_memory_);
    for (const auto& slot : slots_) {
        for (const device::Buffer* buffer : slot->buffers()) add(*buffer);
    }
    return bytes;
}

void Engine::check(std::span<const Feed> feeds) const {
    for (const Feed& feed : feeds) {
        ENSURE(feed.sampler == nullptr || (feed.logits == Logits::last && !feed.tokens.empty()),
               "a sampler chooses behind the last token");
        for (int32_t token : feed.tokens) {
            if (token < 0 || token >= vocabulary()) {
                throw Error(
                    fmt::format("token {} is outside this model's vocabulary of {}", token, vocabulary()));
            }
        }
    }
    const ir::Capacity counts = count(feeds);
    const EngineOptions& limits = prepared_.options;
    if (counts.tokens > limits.micro_batch || counts.outputs > limits.max_outputs ||
        counts.sequences > limits.max_sequences) {
        throw Error(fmt::format(
            "a step of {} tokens, {} rows of logits and {} sequences is more than this engine was "
            "made for: {}, {} and {}",
            counts.tokens, counts.outputs, counts.sequences, limits.micro_batch, limits.max_outputs,
            limits.max_sequences));
    }
}

ir::Capacity Engine::count(std::span<const Feed> feeds) const {
    ir::Capacity counts{0, 0, static_cast<int64_t>(feeds.size())};
    for (const Feed& feed : feeds) {
        const auto tokens = static_cast<int64_t>(feed.tokens.size());
        counts.tokens += tokens;
        counts.outputs += output_rows(feed);
    }
    return counts;
}

void Engine::fill_tokens(ir::StepView& view, std::span<const Feed> feeds) {
    size_t token = 0, output = 0, sequence = 0;
    view.token_begin[0] = 0;
    for (const Feed& feed : feeds) {
        const int64_t position = state_.length(feed.sequence);
        for (size_t i = 0; i < feed.tokens.size(); ++i, ++token) {
            view.tokens[token] = feed.tokens[i];
            view.positions[token] = static_cast<int32_t>(position + static_cast<int64_t>(i));
            const bool is_last = i + 1 == feed.tokens.size();
            if (feed.logits == Logits::all || (feed.logits == Logits::last && is_last)) {
                positions_[output] = position + static_cast<int64_t>(i) + 1;
                view.output_rows[output++] = static_cast<int32_t>(token);
            }
        }
        view.token_begin[++sequence] = static_cast<int32_t>(token);
    }
    *view.token_count = static_cast<int32_t>(token);
    *view.output_count = static_cast<int32_t>(output);
    *view.sequence_count = static_cast<int32_t>(sequence);
}

void Engine::fill_choices(ir::StepView& view, std::span<const Feed> feeds) {
    int64_t row = 0;
    for (const Feed& feed : feeds) {
        if (feed.sampler == nullptr) {
            for (const int64_t rows = row + output_rows(feed); row < rows; ++row)
                view.choices.fill(row, {}, {});
            continue;
        }
        const auto most = static_cast<int32_t>(options().candidates);
        const int64_t position = positions_[static_cast<size_t>(row)];
        // Where there is no room for its changes nothing is asked, and the row will be read.
        view.choices.fill(row++, feed.sampler->ask(position, most), feed.sampler->changes());
    }
}

void Engine::fill_groups(ir::StepView& view, const state::Step& step) {
    for (size_t g = 0; g < view.groups.size(); ++g) {
        ir::StepGroup& group = view.groups[g];
        const auto number = static_cast<int>(g);
        step.lengths(group.lengths);
        step.page_lists(number, group.page_begin, group.pages);
        step.first_pages(number, group.first_page);
        step.write_slots(number, group.write_slots);
        int32_t copies = 0;
        for (const state::PageCopy& copy : step.copies()) {
            if (copy.group != number) continue;
            group.copy_from[static_cast<size_t>(copies)] = copy.source;
            group.copy_to[static_cast<size_t>(copies)] = copy.destination;
            ++copies;
        }
        *group.copy_count = copies;
    }
}

void Engine::run(size_t capacity, Slot& slot) {
    device::BoundProgram& program = slot.program(capacity);
    stream_->write(slot.inputs(capacity), slot.block(capacity));
    program.prepare(slot.view(capacity));
    const int segments = program.program().segments();
    for (int segment = 0; segment < segments && !stop_.stopped(); ++segment) {
        stream_->run(program, segment, stop_);
        if (program.program().host_action(segment) != nullptr) show(capacity, slot, segment);
    }
}

void Engine::show(size_t capacity, Slot& slot, int segment) {
    device::BoundProgram& program = slot.program(capacity);
    const ir::Node& node = *program.program().host_action(segment);
    device::Region region = program.shown(segment, 0);
    const int64_t rows = *slot.view(capacity).token_count;
    region.row_bytes = region.row_bytes / prepared_.ladder[capacity].tokens * rows;
    const auto values = std::span(shown_).first(static_cast<size_t>(region.bytes()) / sizeof(float));
    stream_->read(region, std::as_writable_bytes(values));
    stream_->synchronise();
    if (!stop_.stopped()) prepared_.options.tap(std::get<ir::Tap>(node.op).id, node.name, values);
}

bool Engine::take_cancellation() {
    if (stop_.state() != StopWord::kCancelled) return false;
    stop_.reset();
    return true;
}

// The device may still be at work on the step's memory: wait for it, and forget what else it has to say.
void Engine::settle_after_error() noexcept {
    stop_.cancel();
    try {
        stream_->synchronise();
    } catch (const std::exception&) {
    }
    stop_.reset();
}

}  // namespace plait::engine
