#include "plait/backends/cpu/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "plait/backends/cpu/kernels/meetings.h"

namespace plait::backends::cpu {

Runner::Runner(collectives::local::LocalGroup& group, int member, std::string device_name)
    : device_name_(std::move(device_name)),
      group_(group),
      member_(member),
      barrier_(group.workers(member), group.cores()) {}

void Runner::start(CpuBoundProgram& program, int segment, StopWord& stop) {
    finish();
    program_ = &program;
    segment_ = segment;
    stop_ = &stop;
    for (const auto& step : program.steps(segment)) step->reset();
    group_.start(member_, *this, stop);
}

int Runner::meetings() const { return static_cast<int>(program_->meetings(segment_).size()); }

const collectives::local::Part& Runner::part(int meeting) const {
    return program_->meetings(segment_)[static_cast<size_t>(meeting)].part;
}

BoundStep& Runner::meeting_step(int meeting) const {
    return *program_->steps(segment_)[program_->meetings(segment_)[static_cast<size_t>(meeting)].step];
}

bool Runner::is_dealt(int meeting) const { return cpu::is_dealt(meeting_step(meeting).call); }

void Runner::work_slice(int meeting, int slice, int slices) {
    const BoundStep& step = meeting_step(meeting);
    try_to(step, [&] { run_slice(step.call, slice, slices); });
}

// The next items of a step for one worker: neighbours, since what one reads is often next to what its
// neighbour reads, half of a fair share of those left, so that all finish together.
ir::Range Runner::take(BoundStep& step, int64_t items) const {
    int64_t begin = step.next.load(std::memory_order_relaxed);
    while (begin < items) {
        const int64_t count = std::max<int64_t>(1, (items - begin) / (2 * workers()));
        if (step.next.compare_exchange_weak(begin, begin + count, std::memory_order_relaxed))
            return {begin, begin + count};
    }
    return {};
}

// Every worker passes the same barriers: an error is kept in the stop word and everybody leaves at the next
// one. Nobody needs one right behind a meeting.
void Runner::work(int stretch, int worker) {
    const auto meetings = program_->meetings(segment_);
    const auto steps = program_->steps(segment_);
    const auto next = static_cast<size_t>(stretch);
    const size_t end = next < meetings.size() ? meetings[next].step : steps.size();
    size_t at = 0;
    if (stretch > 0) at = meetings[next - 1].step + (is_dealt(stretch - 1) ? 1 : 0);
    const bool few = program_->few_tokens();
    bool met = stretch > 0;
    for (; at < end; ++at) {
        BoundStep& step = *steps[at];
        const bool barrier = step.barrier_before && !met && !(few && step.no_barrier_if_few);
        met = false;
        if (barrier && !wait_for_own(worker)) return;
        try_to(step, [&] { run_step(step, worker, few); });
        if (step.call.meeting != nullptr) group_.times(member_, worker).reduced();
    }
}

// All of the device's workers meet. Whether they go on.
bool Runner::wait_for_own(int worker) {
    collectives::local::WorkerTimes& spent = group_.times(member_, worker);
    spent.computed();
    const bool go_on = barrier_.wait(stop_->word());
    spent.clock.restart();
    return go_on;
}

void Runner::run_step(BoundStep& step, int worker, bool few) {
    std::byte* workspace = program_->workspace(worker);
    const BoundStep& mine = step.as(worker, few);
    const int64_t items = step.kernel->items(mine.call);
    if (few && step.by_everybody) {
        for (int64_t i = 0; i < items; ++i) mine.run(i, workspace);
        return;
    }
    for (ir::Range run = take(step, items); !run.empty(); run = take(step, items)) {
        for (int64_t i = run.begin; i < run.end; ++i) mine.run(i, workspace);
    }
}

template <class Work>
void Runner::try_to(const BoundStep& step, const Work& work) {
    try {
        work();
    } catch (const std::exception& error) {
        stop_->fail(fmt::format("{}: {}: {}", device_name_, step.name, error.what()));
    }
}

}  // namespace plait::backends::cpu
