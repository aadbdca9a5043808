#include "plait/backends/cpu/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace plait::backends::cpu {

Runner::Runner(Cores& cores, int workers, std::span<const int> pins, std::string device_name)
    : device_name_(std::move(device_name)), pool_(cores, workers, pins), barrier_(workers, cores) {}

void Runner::start(CpuBoundProgram& program, int segment, StopWord& stop) {
    finish();
    if (stop.stopped()) return;
    program_ = &program;
    segment_ = segment;
    stop_ = &stop;
    for (const auto& step : program.steps(segment)) step->reset();
    busy_ = true;
    pool_.start(&Runner::work, this);
}

void Runner::finish() {
    if (!busy_) return;
    pool_.finish();
    busy_ = false;
}

void Runner::run_job(WorkerPool::Job job, void* context) {
    finish();
    pool_.start(job, context);
    pool_.finish();
}

void Runner::work(void* context, int worker) { static_cast<Runner*>(context)->run_steps(worker); }

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
// one.
void Runner::run_steps(int worker) {
    std::byte* workspace = program_->workspace(worker);
    const bool few = program_->few_tokens();
    for (const auto& step : program_->steps(segment_)) {
        const bool barrier = step->barrier_before && !(few && step->no_barrier_if_few);
        if (barrier && !barrier_.wait(stop_->word())) return;
        try {
            const BoundStep& mine = step->as(worker, few);
            const int64_t items = step->kernel->items(mine.call);
            if (few && step->by_everybody) {
                for (int64_t i = 0; i < items; ++i) mine.run(i, workspace);
                continue;
            }
            for (ir::Range run = take(*step, items); !run.empty(); run = take(*step, items)) {
                for (int64_t i = run.begin; i < run.end; ++i) mine.run(i, workspace);
            }
        } catch (const std::exception& error) {
            fail(*step, error.what());
        }
    }
}

void Runner::fail(const BoundStep& step, const char* what) {
    stop_->fail(fmt::format("{}: {}: {}", device_name_, step.name, what));
}

}  // namespace plait::backends::cpu
