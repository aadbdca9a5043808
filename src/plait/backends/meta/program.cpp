#include "plait/backends/meta/program.h"

#include <algorithm>
#include <set>

#include "plait/base/ensure.h"

namespace plait::backends::meta {
namespace {

bool is_exchange(const ir::Node* node) {
    return node != nullptr && std::holds_alternative<ir::Exchange>(node->op);
}

}  // namespace

MetaProgram::MetaProgram(std::vector<std::unique_ptr<device::Program>> programs,
                         std::vector<collectives::Round> rounds, std::vector<device::StoredTensor> outputs,
                         std::vector<device::CollectiveDescription> collectives, const ir::Capacity& capacity,
                         std::vector<std::byte>& staging)
    : programs_(std::move(programs)),
      rounds_(std::move(rounds)),
      collectives_(std::move(collectives)),
      capacity_(capacity),
      staging_(staging) {
    needs_.outputs = std::move(outputs);
    needs_.input_values = programs_[0]->needs().input_values;
    const int steps = programs_[0]->segments();
    for (const auto& program : programs_) {
        needs_.scratch_bytes = std::max(needs_.scratch_bytes, program->needs().scratch_bytes);
        ENSURE(program->segments() == steps && program->needs().input_values == needs_.input_values,
               "the members go in step");
    }
    for (int step = 0; step < steps; ++step) {
        if (!is_exchange(programs_[0]->host_action(step))) ends_.push_back(step + 1);
    }
    const auto bytes = static_cast<size_t>(largest_round());
    if (staging_.size() < bytes) staging_ = std::vector<std::byte>(bytes);  // what it holds is nobody's yet
}

// Bytes of all values that one round hands over or compares; the step's inputs may be compared too.
int64_t MetaProgram::largest_round() const {
    int64_t most = needs_.input_values * static_cast<int64_t>(sizeof(int32_t));
    for (const collectives::Round& round : rounds_) {
        if (round.comparison) most = std::max(most, round.comparison->desc.bytes());
    }
    for (const auto& program : programs_) {
        for (int step = 0; step < program->segments(); ++step) {
            const ir::Node* node = program->host_action(step);
            if (!is_exchange(node)) continue;
            int64_t bytes = 0;
            for (const ir::TensorDesc& desc : std::get<ir::Exchange>(node->op).received)
                bytes += desc.bytes();
            most = std::max(most, bytes);
        }
    }
    return most * members();
}

const ir::Node* MetaProgram::host_action(int segment) const {
    return programs_[0]->host_action(ends_[static_cast<size_t>(segment)] - 1);
}

ir::Range MetaProgram::steps(int segment) const {
    return {segment == 0 ? 0 : ends_[static_cast<size_t>(segment - 1)], ends_[static_cast<size_t>(segment)]};
}

std::unique_ptr<device::BoundProgram> MetaProgram::bind(const device::Bindings& bindings) {
    return std::make_unique<MetaBoundProgram>(*this, bindings);
}

MetaBoundProgram::MetaBoundProgram(const MetaProgram& program, const device::Bindings& bindings)
    : program_(program), bindings_(bindings) {
    for (int m = 0; m < program.members(); ++m) bind_member(m, bindings);
}

void MetaBoundProgram::bind_member(int m, const device::Bindings& bindings) {
    const auto parts = [&](std::span<const device::Region> wholes) {
        std::vector<device::Region> regions;
        for (const device::Region& whole : wholes) {
            regions.push_back(whole.buffer == nullptr ? device::Region{}
                                                      : meta_buffer(*whole.buffer).place(whole.tensor, m));
        }
        return regions;
    };
    const std::vector<device::Region> weights = parts(bindings.weights);
    const std::vector<device::Region> state = parts(bindings.state);
    bound_.push_back(program_.member(m).bind({.weights = weights,
                                              .state = state,
                                              .inputs = meta_buffer(*bindings.inputs).of_member(m),
                                              .outputs = meta_buffer(*bindings.outputs).of_member(m),
                                              .scratch = meta_buffer(*bindings.scratch).of_member(m)}));
}

void MetaBoundProgram::prepare(const ir::StepView& step) {
    tokens_ = *step.token_count;
    outputs_ = *step.output_count;
    for (const auto& bound : bound_) bound->prepare(step);
}

device::Region MetaBoundProgram::inputs(int m) const {
    device::Region region = meta_buffer(*bindings_.inputs).place(0, m);
    region.row_bytes = program_.needs().input_values * static_cast<int64_t>(sizeof(int32_t));
    return region;
}

device::Region MetaBoundProgram::actual(const ir::TensorDesc& desc, device::Region region) const {
    if (desc.rows == ir::Rows::fixed) return region;
    const int64_t rows = desc.rows == ir::Rows::tokens ? tokens_ : outputs_;
    region.row_bytes = desc.slice_bytes() * rows;
    return region;
}

// What the host is shown lies in what this device was given: the first member's part of it stands for all.
device::Region MetaBoundProgram::as_whole(const device::Region& of_first) const {
    for (device::Buffer* buffer : {bindings_.scratch, bindings_.outputs}) {
        if (meta_buffer(*buffer).of_member(0) != of_first.buffer) continue;
        device::Region region = of_first;
        region.buffer = buffer;
        return region;
    }
    ENSURE(false, "a shown value lies in the slot");
}

device::Region MetaBoundProgram::shown(int segment, int input) const {
    return as_whole(member(0).shown(static_cast<int>(program_.steps(segment).end) - 1, input));
}

device::Region MetaBoundProgram::received(int segment, int output) const {
    return as_whole(member(0).received(static_cast<int>(program_.steps(segment).end) - 1, output));
}

}  // namespace plait::backends::meta
