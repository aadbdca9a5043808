#pragma once

#include <memory>
#include <vector>

#include "plait/backends/meta/meta_device.h"
#include "plait/backends/meta/program.h"

namespace plait::backends::meta {

class MetaEvent : public device::Event {
  public:
    explicit MetaEvent(const Members& members);
    bool done() const override;
    void block() override;

    device::Event& member(int m) const { return *events_[static_cast<size_t>(m)]; }

  private:
    std::vector<std::unique_ptr<device::Event>> events_;
};

// A stream of every member. Values go from one to another through the host, round by round, in the caller's
// thread: nothing depends on chance.
class MetaStream : public device::Stream {
  public:
    // All outlive the stream. It sets aside what reading a member's part of so many bytes takes.
    MetaStream(const Members& members, const MetaOptions& options, StepTimes& times, int64_t part_bytes);

    // A tensor that is split is written whole.
    void write(const device::Region& to, std::span<const std::byte> from) override;
    // A tensor that is split is put together again: whole rows where its last axis is split, else the whole
    // tensor.
    void read(const device::Region& from, std::span<std::byte> to) override;
    void copy(const device::Region& from, const device::Region& to) override;
    void run(device::BoundProgram& program, int segment, StopWord& stop) override;
    void record(device::Event& event) override;
    void wait(device::Event& event) override;
    void synchronise() override;

  private:
    // A member's part, on its way into staged_, that belongs into `to`.
    struct Assembly {
        const device::StoredTensor* tensor = nullptr;
        const ir::StoredSlice* slice = nullptr;
        int64_t rows = 0;  // over the axes before the split one
        std::span<std::byte> to;
    };

    device::Stream& member(int m) const { return *streams_[static_cast<size_t>(m)]; }
    int members() const { return static_cast<int>(streams_.size()); }
    void write_parts(const MetaBuffer& buffer, int32_t tensor, std::span<const std::byte> from);
    void read_parts(const MetaBuffer& buffer, const device::Region& from, std::span<std::byte> to);
    // `step` is the members' segment in front of the exchange.
    void exchange(MetaBoundProgram& program, int step, StopWord& stop);
    void move(MetaBoundProgram& program, int step, const collectives::Round& round, StopWord& stop);
    void compare(MetaBoundProgram& program, int step, const collectives::Comparison& comparison,
                 StopWord& stop);
    void compare_inputs(MetaBoundProgram& program, StopWord& stop);
    template <class RegionOf>
    void expect_equal(MetaBoundProgram& program, const RegionOf& region_of, bool unlike,
                      const std::string& what, StopWord& stop);
    void assemble();
    // While steps are timed: so that what the members still do is not counted as what comes next.
    void rest_if_timed();

    const Members& members_;
    const MetaOptions& options_;
    StepTimes& times_;
    bool in_step_ = false;
    std::vector<std::unique_ptr<device::Stream>> streams_;
    std::vector<Assembly> assemblies_;            // until synchronise()
    std::vector<std::vector<std::byte>> staged_;  // by assembly; kept for the next ones
};

}  // namespace plait::backends::meta
