#pragma once

#include <memory>
#include <vector>

#include "plait/backends/meta/memory.h"
#include "plait/collectives/lower.h"
#include "plait/plan/shard.h"

namespace plait::backends::meta {

// One program per member, stepped from one exchange to the next.
class MetaProgram : public device::Program {
  public:
    // `output_descs` are the whole outputs.
    MetaProgram(std::vector<std::unique_ptr<device::Program>> programs,
                std::vector<collectives::Round> rounds, std::vector<device::StoredTensor> outputs,
                std::vector<device::CollectiveDescription> collectives, const ir::Capacity& capacity,
                std::vector<std::byte>& staging);

    const device::ProgramNeeds& needs() const override { return needs_; }
    int segments() const override { return static_cast<int>(ends_.size()); }
    const ir::Node* host_action(int segment) const override;
    std::span<const device::CollectiveDescription> collectives() const override { return collectives_; }
    std::unique_ptr<device::BoundProgram> bind(const device::Bindings& bindings) override;

    int members() const { return static_cast<int>(programs_.size()); }
    device::Program& member(int m) const { return *programs_[static_cast<size_t>(m)]; }
    // The members' segments [first, end) that make up one of this program's.
    ir::Range steps(int segment) const;
    const collectives::Round& round(int id) const { return rounds_[static_cast<size_t>(id)]; }
    const ir::Capacity& capacity() const { return capacity_; }
    // Where values wait between two members. Shared by all programs of a device, which run one at a time.
    std::span<std::byte> staging() const { return staging_; }

  private:
    int64_t largest_round() const;

    std::vector<std::unique_ptr<device::Program>> programs_;
    std::vector<collectives::Round> rounds_;
    std::vector<device::CollectiveDescription> collectives_;
    device::ProgramNeeds needs_;
    std::vector<int> ends_;  // by segment: the member segment behind its last
    ir::Capacity capacity_;
    std::vector<std::byte>& staging_;
};

class MetaBoundProgram : public device::BoundProgram {
  public:
    MetaBoundProgram(const MetaProgram& program, const device::Bindings& bindings);

    const device::Program& program() const override { return program_; }
    void prepare(const ir::StepView& step) override;
    device::Region shown(int segment, int input) const override;
    device::Region received(int segment, int output) const override;

    const MetaProgram& meta() const { return program_; }
    device::BoundProgram& member(int m) const { return *bound_[static_cast<size_t>(m)]; }
    // Where the member has what the step is made of.
    device::Region inputs(int m) const;
    // The part of a region that the step's rows take.
    device::Region actual(const ir::TensorDesc& desc, device::Region region) const;

  private:
    void bind_member(int m, const device::Bindings& bindings);
    device::Region as_whole(const device::Region& of_first) const;

    const MetaProgram& program_;
    device::Bindings bindings_;
    std::vector<std::unique_ptr<device::BoundProgram>> bound_;
    int64_t tokens_ = 0;
    int64_t outputs_ = 0;
};

}  // namespace plait::backends::meta
