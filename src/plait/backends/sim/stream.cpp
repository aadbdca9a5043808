#include "plait/backends/sim/stream.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <system_error>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/lap_clock.h"
#include "plait/device/region.h"

namespace plait::backends::sim {
namespace {

SimBuffer* sim_buffer(const device::Region& region) { return static_cast<SimBuffer*>(region.buffer); }

std::byte* tensor_begin(const device::Region& region) { return sim_buffer(region)->begin(region.tensor); }

device::Region rows_of(const device::Region& region, int64_t first, int64_t count) {
    device::Region part = region;
    part.offset += first * region.stride;
    part.rows = count;
    return part;
}

device::Region columns_of(const device::Region& row, int64_t begin, int64_t count) {
    device::Region part = row;
    part.offset += begin;
    part.row_bytes = count;
    return part;
}

// Cuts a region into parts of at most `limit` bytes, in the order of its bytes.
template <class Use>
void for_each_part(const device::Region& region, int64_t limit, Use use) {
    if (region.bytes() == 0) return;
    if (region.row_bytes <= limit) {
        const int64_t rows = limit / region.row_bytes;
        for (int64_t row = 0; row < region.rows; row += rows) {
            use(rows_of(region, row, std::min(rows, region.rows - row)));
        }
        return;
    }
    for (int64_t row = 0; row < region.rows; ++row) {
        for (int64_t begin = 0; begin < region.row_bytes; begin += limit) {
            use(columns_of(rows_of(region, row, 1), begin, std::min(limit, region.row_bytes - begin)));
        }
    }
}

void block_all_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

SimStream::SimStream(const SimBufferType& type, Cores& cores, const Delays& delays, RunCount& count)
    : type_(type),
      lease_(cores.lease(1)),
      delays_(delays),
      count_(count),
      random_(delays.seed),
      stages_(new std::byte[static_cast<size_t>(kStagedBytes) * kStages]) {
    start_thread();
}

void SimStream::start_thread() {
    try {
        thread_ = std::thread([this] { thread_main(); });
    } catch (const std::system_error& error) {
        throw Error(fmt::format("{}: the system refuses a thread: {}", type_.device_name(), error.what()));
    }
}

SimStream::~SimStream() {
    progress_->close();
    thread_.join();
}

void SimStream::write(const device::Region& to, std::span<const std::byte> from) {
    check("write", to, static_cast<int64_t>(from.size()));
    for_each_part(to, kStagedBytes, [&](const device::Region& part) {
        const auto bytes = static_cast<size_t>(part.bytes());
        write_part(part, from.first(bytes));
        from = from.subspan(bytes);
    });
}

void SimStream::write_part(const device::Region& to, std::span<const std::byte> from) {
    const size_t stage = staged_++ % kStages;
    progress_->wait_done(stage_free_after_[stage]);
    std::byte* staged = stages_.get() + stage * static_cast<size_t>(kStagedBytes);
    std::memcpy(staged, from.data(), from.size());
    push(Write{to, {staged, from.size()}});
    stage_free_after_[stage] = pushed_;
}

void SimStream::read(const device::Region& from, std::span<std::byte> to) {
    check("read", from, static_cast<int64_t>(to.size()));
    push(Read{from, to});
}

void SimStream::copy(const device::Region& from, const device::Region& to) {
    check("copy", from, to.bytes());
    check("copy", to, from.bytes());
    push(Copy{from, to});
}

void SimStream::check(const char* operation, const device::Region& region, int64_t bytes) const {
    ENSURE(&region.buffer->type() == &type_, "a stream moves bytes of its own device's buffers");
    device::check_region(type_.device_name().c_str(), operation, region, bytes);
}

void SimStream::run(device::BoundProgram& program, int segment, StopWord& stop) {
    push(Run{static_cast<const SimBoundProgram*>(&program), segment, &stop});
}

void SimStream::record(device::Event& event) {
    auto& mark = static_cast<SimEvent&>(event);
    mark.progress_ = progress_;
    mark.mark_ = pushed_;
}

void SimStream::wait(device::Event& event) {
    const auto* simulated = dynamic_cast<const SimEvent*>(&event);
    if (simulated == nullptr) {
        event.block();
    } else if (simulated->progress_ != nullptr) {
        push(Wait{simulated->progress_, simulated->mark_});
    }
}

void SimStream::synchronise() {
    progress_->wait_done(pushed_);
    if (!error_) return;
    const Error error(*error_);
    error_.reset();
    throw error;
}

void SimStream::push(const Item& item) {
    if (pushed_ >= kQueue) progress_->wait_done(pushed_ + 1 - kQueue);
    queue_[pushed_ % kQueue] = item;
    ++pushed_;
    progress_->add_item();
}

void SimStream::thread_main() {
    block_all_signals();
    pthread_setname_np(pthread_self(), "plait-sim");
    for (uint64_t number = 0; progress_->next(); ++number) {
        delay();
        execute(queue_[number % kQueue]);
        progress_->finish_item();
    }
}

void SimStream::delay() {
    if (delays_.max_us == 0) return;
    const uint64_t choices = static_cast<uint64_t>(delays_.max_us) + 1;
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % choices));
}

void SimStream::execute(const Item& item) {
    if (const auto* waiting = std::get_if<Wait>(&item)) {
        waiting->progress->wait_done(waiting->mark);
    } else if (const auto* run = std::get_if<Run>(&item)) {
        compute(*run);
    } else {
        transfer(item);
    }
}

void SimStream::compute(const Run& run) {
    LapClock clock;
    clock.switch_to(count_.on);
    clock.restart();
    try {
        run.program->run(run.segment, *run.stop);
    } catch (const std::exception& error) {
        run.stop->fail(error.what());
    }
    if (!clock.is_on()) return;
    double seconds = 0;
    clock.add_to(seconds);
    count_.seconds += seconds;
    ++count_.runs;
}

void SimStream::transfer(const Item& item) {
    try {
        if (const auto* write = std::get_if<Write>(&item)) {
            SimBuffer* const buffers[] = {sim_buffer(write->to)};
            const Opened opened(buffers);
            device::scatter(tensor_begin(write->to), write->to, write->staged);
        } else if (const auto* read = std::get_if<Read>(&item)) {
            SimBuffer* const buffers[] = {sim_buffer(read->from)};
            const Opened opened(buffers);
            device::gather(tensor_begin(read->from), read->from, read->to);
        } else if (const auto* copy = std::get_if<Copy>(&item)) {
            SimBuffer* const buffers[] = {sim_buffer(copy->from), sim_buffer(copy->to)};
            const Opened opened(buffers);
            device::copy_pieces(tensor_begin(copy->from), copy->from, tensor_begin(copy->to), copy->to);
        }
    } catch (const std::exception& error) {
        if (!error_) error_ = error.what();
    }
}

}  // namespace plait::backends::sim
