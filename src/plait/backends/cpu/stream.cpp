#include "plait/backends/cpu/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plait/backends/cpu/packing.h"
#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/device/region.h"

namespace plait::backends::cpu {
namespace {

CpuBuffer& cpu_buffer(const device::Region& region) { return *static_cast<CpuBuffer*>(region.buffer); }

std::byte* tensor_begin(const device::Region& region) { return cpu_buffer(region).begin(region.tensor); }

// Below that nobody is woken.
constexpr int64_t kWrittenByWorkers = int64_t{256} << 10;

struct RowsJob {
    const device::Region& to;
    const std::byte* from;
    int workers;

    // Bytes [begin, end) of the region's pieces, one behind the other.
    void write(int64_t begin, int64_t end) const {
        while (begin < end) {
            const int64_t column = begin % to.row_bytes;
            const int64_t bytes = std::min(to.row_bytes - column, end - begin);
            std::byte* piece = tensor_begin(to) + to.offset + begin / to.row_bytes * to.stride;
            std::memcpy(piece + column, from + begin, static_cast<size_t>(bytes));
            begin += bytes;
        }
    }
};

void write_share(void* context, int worker) {
    const auto& job = *static_cast<const RowsJob*>(context);
    job.write(job.to.bytes() * worker / job.workers, job.to.bytes() * (worker + 1) / job.workers);
}

// By the device's own workers, since whoever touches a page first gets it near his core.
void write_rows(Runner& runner, const device::Region& to, std::span<const std::byte> from) {
    if (to.bytes() < kWrittenByWorkers) return device::scatter(tensor_begin(to), to, from);
    RowsJob job{to, from.data(), runner.workers()};
    runner.run_job(write_share, &job);
}

}  // namespace

bool CpuEvent::done() const { return stream_ == nullptr || stream_->done_ >= mark_; }

void CpuEvent::block() {
    if (!done()) stream_->drain_to(mark_);
}

CpuStream::~CpuStream() { drain(); }

void CpuStream::write(const device::Region& to, std::span<const std::byte> from) {
    device::check_region(device_name_.c_str(), "write", to, static_cast<int64_t>(from.size()));
    drain();
    CpuBuffer& buffer = cpu_buffer(to);
    if (buffer.cpu_type().is_rows()) {
        write_rows(runner_, to, from);
        return;
    }
    const ir::TensorDesc& desc = buffer.tensors()[static_cast<size_t>(to.tensor)];
    if (to.offset != 0 || to.bytes() != desc.bytes()) {
        throw Error(fmt::format("{}: write: a packed tensor is written whole", device_name_));
    }
    pack_tensor(runner_, desc, from, tensor_begin(to));
}

void CpuStream::read(const device::Region& from, std::span<std::byte> to) {
    if (!cpu_buffer(from).cpu_type().is_rows()) throw Error(fmt::format("{}: read: packed", device_name_));
    device::check_region(device_name_.c_str(), "read", from, static_cast<int64_t>(to.size()));
    drain();
    device::gather(tensor_begin(from), from, to);
}

void CpuStream::copy(const device::Region& from, const device::Region& to) {
    if (!cpu_buffer(from).cpu_type().is_rows() || !cpu_buffer(to).cpu_type().is_rows()) {
        throw Error(fmt::format("{}: copy: packed", device_name_));
    }
    device::check_region(device_name_.c_str(), "copy", from, to.bytes());
    device::check_region(device_name_.c_str(), "copy", to, from.bytes());
    drain();
    device::copy_pieces(tensor_begin(from), from, tensor_begin(to), to);
}

void CpuStream::run(device::BoundProgram& program, int segment, StopWord& stop) {
    // So that it begins as soon as the other members have theirs.
    if (runner_.has_company()) drain();
    push({.program = static_cast<CpuBoundProgram*>(&program), .segment = segment, .stop = &stop});
}

void CpuStream::record(device::Event& event) {
    auto& mark = static_cast<CpuEvent&>(event);
    mark.stream_ = this;
    mark.mark_ = pushed_;
}

void CpuStream::wait(device::Event& event) {
    const auto* mark = dynamic_cast<const CpuEvent*>(&event);
    if (mark == nullptr) return event.block();
    if (mark->stream_ != nullptr) push({.awaited = mark->stream_, .mark = mark->mark_});
}

void CpuStream::synchronise() { drain(); }

void CpuStream::push(const Item& item) {
    if (pushed_ - done_ == kQueue) drain_to(done_ + 1);
    queue_[pushed_ % kQueue] = item;
    ++pushed_;
    // The workers begin while the caller goes on, unless something must come first.
    if (done_ + 1 == pushed_ && item.program != nullptr) begin_next();
}

void CpuStream::begin_next() {
    const Item& item = queue_[begun_ % kQueue];
    ++begun_;
    if (item.program == nullptr) {
        item.awaited->drain_to(item.mark);
    } else {
        runner_.start(*item.program, item.segment, *item.stop);
    }
}

void CpuStream::drain_to(uint64_t mark) {
    while (done_ < mark) {
        if (begun_ == done_) begin_next();
        runner_.finish();
        ++done_;
    }
}

}  // namespace plait::backends::cpu
