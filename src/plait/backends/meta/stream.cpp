#include "plait/backends/meta/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/device/region.h"

namespace plait::backends::meta {
namespace {

using device::Region;
using device::StoredTensor;
using ir::LayoutKind;

// A tensor as rows of units along its split axis: a unit is what lies behind one index, or behind one block
// of indices of the innermost axis.
struct Grain {
    int64_t rows = 1;        // over the axes before the split one
    int64_t unit_bytes = 0;  // of one index or block
    int64_t unit = 1;        // indices in it
    int64_t row_bytes = 0;   // of the whole tensor
};

Grain grain_of(const StoredTensor& tensor) {
    const ir::TensorDesc& desc = tensor.desc;
    const int axis = tensor.layout.axis;
    Grain grain;
    for (int before = 0; before < axis; ++before) grain.rows *= desc.shape[before];
    const dtype::DTypeInfo& type = dtype::info(desc.type);
    if (axis + 1 == desc.shape.rank()) {
        grain.unit = type.block_elements;
        grain.unit_bytes = type.block_bytes;
    } else {
        grain.unit_bytes = desc.row_bytes();
        for (int behind = axis + 1; behind + 1 < desc.shape.rank(); ++behind)
            grain.unit_bytes *= desc.shape[behind];
    }
    grain.row_bytes = desc.bytes() / std::max<int64_t>(1, grain.rows);
    return grain;
}

// Calls f(offset in the whole, offset in the part, bytes) for every contiguous stretch of a member's part.
template <class F>
void for_stretches(const Grain& grain, const ir::StoredSlice& slice, int64_t rows, F f) {
    int64_t part = 0;
    for (int64_t row = 0; row < rows; ++row) {
        for (const ir::Range& piece : slice.pieces) {
            if (piece.empty()) continue;
            const int64_t first = piece.begin / grain.unit;
            const int64_t count = (piece.end + grain.unit - 1) / grain.unit - first;
            f(row * grain.row_bytes + first * grain.unit_bytes, part, count * grain.unit_bytes);
            part += count * grain.unit_bytes;
        }
    }
}

}  // namespace

MetaEvent::MetaEvent(const Members& members) {
    for (int m = 0; m < members.count(); ++m) events_.push_back(members.device(m).make_event());
}

bool MetaEvent::done() const {
    return std::ranges::all_of(events_, [](const auto& event) { return event->done(); });
}

void MetaEvent::block() {
    for (const auto& event : events_) event->block();
}

MetaStream::MetaStream(const Members& members, const MetaOptions& options, StepTimes& times,
                       int64_t part_bytes)
    : members_(members), options_(options), times_(times), staged_(members.devices.size()) {
    assemblies_.reserve(members.devices.size());
    for (std::vector<std::byte>& staged : staged_) staged.reserve(static_cast<size_t>(part_bytes));
    for (int m = 0; m < members.count(); ++m) streams_.push_back(members.device(m).make_stream());
}

void MetaStream::write(const Region& to, std::span<const std::byte> from) {
    device::check_region(options_.name.c_str(), "write", to, static_cast<int64_t>(from.size()));
    const MetaBuffer& buffer = meta_buffer(*to.buffer);
    const StoredTensor& tensor = buffer.tensor(to.tensor);
    if (tensor.layout.is(LayoutKind::split)) {
        if (to.bytes() != tensor.desc.bytes())
            throw Error(fmt::format("{}: write: a tensor that is split is written whole", options_.name));
        return write_parts(buffer, to.tensor, from);
    }
    for (int m = 0; m < members(); ++m) {
        if (buffer.place(to.tensor, m).buffer == nullptr) continue;
        Region part = to;
        part.buffer = buffer.place(to.tensor, m).buffer;
        part.tensor = buffer.place(to.tensor, m).tensor;
        member(m).write(part, from);
    }
}

void MetaStream::write_parts(const MetaBuffer& buffer, int32_t index, std::span<const std::byte> from) {
    const StoredTensor& tensor = buffer.tensor(index);
    const Grain grain = grain_of(tensor);
    std::vector<std::byte> gathered;
    for (int m = 0; m < members(); ++m) {
        if (buffer.place(index, m).buffer == nullptr) continue;
        const auto bytes = static_cast<size_t>(part_desc(tensor, m).bytes());
        const ir::StoredSlice& slice = buffer.slice(index, m);
        std::span<const std::byte> source;
        int stretches = 0;
        for_stretches(grain, slice, grain.rows, [&](int64_t whole, int64_t, int64_t size) {
            source = from.subspan(static_cast<size_t>(whole), static_cast<size_t>(size));
            ++stretches;
        });
        if (stretches > 1) {
            gathered.resize(bytes);
            for_stretches(grain, slice, grain.rows, [&](int64_t whole, int64_t part, int64_t size) {
                std::memcpy(gathered.data() + part, from.data() + whole, static_cast<size_t>(size));
            });
            source = gathered;
        }
        ENSURE(source.size() == bytes, "a part is as large as its description");
        member(m).write(buffer.place(index, m), source);
    }
}

void MetaStream::read(const Region& from, std::span<std::byte> to) {
    device::check_region(options_.name.c_str(), "read", from, static_cast<int64_t>(to.size()));
    const MetaBuffer& buffer = meta_buffer(*from.buffer);
    const StoredTensor& tensor = buffer.tensor(from.tensor);
    if (tensor.layout.is(LayoutKind::split)) return read_parts(buffer, from, to);
    if (!tensor.layout.is(LayoutKind::mirrored))
        throw Error(
            fmt::format("{}: read: the members hold terms of a sum, which is nowhere", options_.name));
    Region part = from;
    part.buffer = buffer.place(from.tensor, 0).buffer;
    part.tensor = buffer.place(from.tensor, 0).tensor;
    member(0).read(part, to);
}

void MetaStream::read_parts(const MetaBuffer& buffer, const Region& from, std::span<std::byte> to) {
    const StoredTensor& tensor = buffer.tensor(from.tensor);
    const Grain grain = grain_of(tensor);
    const bool whole_rows =
        from.offset % grain.row_bytes == 0 && from.rows == 1 && from.row_bytes % grain.row_bytes == 0;
    if (!whole_rows)
        throw Error(fmt::format("{}: read: a tensor that is split is read in whole rows", options_.name));
    const int64_t first = from.offset / grain.row_bytes, rows = from.row_bytes / grain.row_bytes;
    for (int m = 0; m < members(); ++m) {
        if (buffer.place(from.tensor, m).buffer == nullptr || rows == 0) continue;
        Region part = buffer.place(from.tensor, m);
        const int64_t row_bytes = part.row_bytes / grain.rows;
        part.offset = first * row_bytes;
        part.row_bytes = rows * row_bytes;
        if (assemblies_.size() == staged_.size()) staged_.emplace_back();
        std::vector<std::byte>& staged = staged_[assemblies_.size()];
        if (staged.size() < static_cast<size_t>(part.row_bytes))
            staged.resize(static_cast<size_t>(part.row_bytes));
        assemblies_.push_back({&tensor, &buffer.slice(from.tensor, m), rows, to});
        member(m).read(part, std::span(staged).first(static_cast<size_t>(part.row_bytes)));
    }
}

void MetaStream::assemble() {
    for (size_t i = 0; i < assemblies_.size(); ++i) {
        const Assembly& part = assemblies_[i];
        for_stretches(
            grain_of(*part.tensor), *part.slice, part.rows, [&](int64_t whole, int64_t offset, int64_t size) {
                std::memcpy(part.to.data() + whole, staged_[i].data() + offset, static_cast<size_t>(size));
            });
    }
    assemblies_.clear();
}

void MetaStream::copy(const Region& from, const Region& to) {
    const MetaBuffer& source = meta_buffer(*from.buffer);
    const MetaBuffer& target = meta_buffer(*to.buffer);
    const bool mirrored = source.tensor(from.tensor).layout.is(LayoutKind::mirrored) &&
                          target.tensor(to.tensor).layout.is(LayoutKind::mirrored);
    if (!mirrored)
        throw Error(fmt::format("{}: copy: only what every member has whole is copied", options_.name));
    device::check_region(options_.name.c_str(), "copy", from, to.bytes());
    for (int m = 0; m < members(); ++m) {
        Region part_from = from, part_to = to;
        part_from.buffer = source.place(from.tensor, m).buffer;
        part_from.tensor = source.place(from.tensor, m).tensor;
        part_to.buffer = target.place(to.tensor, m).buffer;
        part_to.tensor = target.place(to.tensor, m).tensor;
        member(m).copy(part_from, part_to);
    }
}

void MetaStream::run(device::BoundProgram& bound, int segment, StopWord& stop) {
    auto& program = dynamic_cast<MetaBoundProgram&>(bound);
    const ir::Range steps = program.meta().steps(segment);
    if (!in_step_) times_.step_clock.restart();
    in_step_ = true;
    if (times_.step_clock.is_on()) ++times_.runs;
    if (options_.check_members && segment == 0 && !stop.stopped()) compare_inputs(program, stop);
    for (int64_t step = steps.begin; step < steps.end && !stop.stopped(); ++step) {
        for (int m = 0; m < members(); ++m) member(m).run(program.member(m), static_cast<int>(step), stop);
        if (step + 1 < steps.end) exchange(program, static_cast<int>(step), stop);
    }
}

void MetaStream::exchange(MetaBoundProgram& program, int step, StopWord& stop) {
    const ir::Node& node = *program.meta().member(0).host_action(step);
    const collectives::Round& round = program.meta().round(std::get<ir::Exchange>(node.op).id);
    rest_if_timed();
    times_.exchange_clock.restart();
    if (round.comparison) {
        compare(program, step, *round.comparison, stop);
    } else {
        move(program, step, round, stop);
    }
    rest_if_timed();
    times_.exchange_clock.add_to(times_.exchanges);
}

void MetaStream::rest_if_timed() {
    if (!times_.exchange_clock.is_on()) return;
    for (int m = 0; m < members(); ++m) member(m).synchronise();
}

// What one member hands over passes through the host: all are read, then all are written.
void MetaStream::move(MetaBoundProgram& program, int step, const collectives::Round& round, StopWord& stop) {
    const std::span<std::byte> staging = program.meta().staging();
    const auto each_move = [&](auto f) {
        size_t begin = 0;
        for (const collectives::Move& move : round.moves) {
            const auto& exchange =
                std::get<ir::Exchange>(program.meta().member(move.to).host_action(step)->op);
            const ir::TensorDesc& desc = exchange.received[static_cast<size_t>(move.output)];
            const Region shown = program.actual(desc, program.member(move.from).shown(step, move.input));
            const auto waiting = staging.subspan(begin, static_cast<size_t>(shown.bytes()));
            begin += waiting.size();
            f(move, desc, shown, waiting);
        }
    };
    each_move([&](const auto& move, const auto&, const Region& shown, std::span<std::byte> waiting) {
        member(move.from).read(shown, waiting);
    });
    for (int m = 0; m < members(); ++m) member(m).synchronise();
    if (stop.stopped()) return;
    each_move([&](const auto& move, const auto& desc, const Region&, std::span<std::byte> waiting) {
        if (options_.on_move) options_.on_move(move, waiting);
        member(move.to).write(program.actual(desc, program.member(move.to).received(step, move.output)),
                              waiting);
    });
}

void MetaStream::compare(MetaBoundProgram& program, int step, const collectives::Comparison& comparison,
                         StopWord& stop) {
    const auto shown = [&](int m) {
        return program.actual(comparison.desc, program.member(m).shown(step, 0));
    };
    expect_equal(program, shown, comparison.unlike, program.meta().member(0).host_action(step)->name, stop);
}

// Positions, page numbers and all else that a step is made of.
void MetaStream::compare_inputs(MetaBoundProgram& program, StopWord& stop) {
    const auto inputs = [&](int m) { return program.inputs(m); };
    expect_equal(program, inputs, true, "the step's inputs", stop);
}

// Each member's value is compared with the first member's, or the first one's of the same signature.
template <class RegionOf>
void MetaStream::expect_equal(MetaBoundProgram& program, const RegionOf& region_of, bool unlike,
                              const std::string& what, StopWord& stop) {
    const auto bytes = static_cast<size_t>(region_of(0).bytes());
    const auto value = [&](int m) {
        return program.meta().staging().subspan(static_cast<size_t>(m) * bytes, bytes);
    };
    for (int m = 0; m < members(); ++m) member(m).read(region_of(m), value(m));
    for (int m = 0; m < members(); ++m) member(m).synchronise();
    if (stop.stopped()) return;  // somebody may have left in the middle
    const auto describe = [&](int m) -> const device::DeviceDescription& {
        return members_.device(m).describe();
    };
    for (int m = 1; m < members(); ++m) {
        int other = 0;
        while (!unlike && describe(other).signature != describe(m).signature) ++other;
        const std::span<std::byte> own = value(m), theirs = value(other);
        const auto at = static_cast<size_t>(std::ranges::mismatch(own, theirs).in1 - own.begin());
        if (at == bytes) continue;
        throw Error(
            fmt::format("{}: {}: the members {} ({}) and {} ({}) should hold the same and differ in "
                        "value {} of {}",
                        options_.name, what, other, describe(other).name, m, describe(m).name,
                        at / sizeof(float), bytes / sizeof(float)));
    }
}

void MetaStream::record(device::Event& event) {
    for (int m = 0; m < members(); ++m) member(m).record(dynamic_cast<MetaEvent&>(event).member(m));
}

void MetaStream::wait(device::Event& event) {
    for (int m = 0; m < members(); ++m) member(m).wait(dynamic_cast<MetaEvent&>(event).member(m));
}

// All members come to rest, also when one has an error to tell.
void MetaStream::synchronise() {
    std::exception_ptr first;
    for (int m = 0; m < members(); ++m) {
        try {
            member(m).synchronise();
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    }
    if (in_step_) times_.step_clock.add_to(times_.steps);
    in_step_ = false;
    if (first) {
        assemblies_.clear();
        std::rethrow_exception(first);
    }
    assemble();
}

}  // namespace plait::backends::meta
