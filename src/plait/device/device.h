#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/base/cancel.h"
#include "plait/device/communicator.h"
#include "plait/device/describe.h"
#include "plait/ir/graph.h"
#include "plait/ir/layout.h"

// The contract between the engine and whatever computes. Implementers live in backends/; everybody else sees
// only this. A device, its streams, buffers and programs are used from one thread at a time unless a function
// says otherwise; a device outlives everything it made.
namespace plait::device {

class Buffer;
class BufferType;
class Event;
class Program;
class BoundProgram;
class Stream;

enum class Usage : uint8_t {
    weights,  // written once, then read
    state,    // written by programs, lives as long as the engine
    compute,  // step inputs, outputs, scratch: contents are only meaningful within a step
};

// A tensor as memory is asked for it: what it is as a whole, and how it lies over the members of a device
// that is made of several. Other devices hold the whole and take no other layout than mirrored.
struct StoredTensor {
    ir::TensorDesc desc;
    ir::Layout layout;
    int32_t weight = -1;  // which of the model's weights it is; -1: none

    StoredTensor() = default;
    StoredTensor(const ir::TensorDesc& whole) : desc(whole) {}  // NOLINT: the usual case
    StoredTensor(const ir::TensorDesc& whole, ir::Layout lies, int32_t which = -1)
        : desc(whole), layout(std::move(lies)), weight(which) {}
};

// The bytes of a packed tensor on one member of a device, from its first to the end of its over-read.
using Image = std::span<const std::byte>;

struct ImageDescription {
    std::string layout_id;  // empty: the member has no part of the tensor
    int64_t bytes = 0;
    bool operator==(const ImageDescription&) const = default;
};

// How a model's weights and state lie over a device's members, by index.
struct Placement {
    std::vector<ir::Layout> weights;
    std::vector<ir::Layout> state;
};

// How fast a device multiplies matrices, operations per second: a multiplication and its addition are two.
struct ProductSpeed {
    double instructions_one = 0;  // what multiplies and adds, with nothing beside it, on one worker
    double instructions = 0;      // the same on all workers at once
    double kernel = 0;            // the whole kernel, on operands in its cache, on all workers
};

// Where a member's time went while runs were under way, its own or others': seconds, means over its workers.
struct RunTimes {
    double compute = 0;
    double reduce = 0;  // exchanging values with other members, and adding them up
    double wait = 0;    // for other members, its own workers or the host
    int64_t runs = 0;   // of segments

    double all() const { return compute + reduce + wait; }
};

class Device {
  public:
    virtual ~Device() = default;

    virtual const DeviceDescription& describe() const = 0;

    // Says how a model's weights and state will lie; graphs compiled afterwards are that model's. A device of
    // one member mirrors everything.
    virtual Placement place_model(std::span<const ir::WeightSpec> weights,
                                  std::span<const ir::StateGroupSpec> groups);
    // Chooses for each weight the buffer type that stores it, over all its readers in all graphs that will be
    // compiled: an index for buffer_type(), -1 for weights nobody reads. Throws Error naming the first node
    // that the device cannot run. Pure.
    virtual std::vector<int> choose_layouts(std::span<const ir::Graph* const> graphs,
                                            size_t weight_count) = 0;
    Support supports(const OpDesc& op) const { return device::supports(describe(), op); }

    // The buffer types of describe().buffer_types, in that order. The one with kRowLayout is also the one for
    // state and compute buffers.
    virtual BufferType& buffer_type(int index) = 0;
    BufferType& row_buffer_type();

    // Chooses kernels and offsets for the graph; allocates nothing on the device, reads no weight. `layouts`
    // names for each weight of the model the index of its buffer type. Throws Error naming the first node the
    // device does not support.
    virtual std::unique_ptr<Program> compile(const ir::Graph& graph, std::span<const int> layouts) = 0;

    virtual std::unique_ptr<Stream> make_stream() = 0;
    virtual std::unique_ptr<Event> make_event() = 0;

    // Whether programs of this device can meet those of other members through such a communicator.
    virtual bool can_embed(CommunicatorKind /*kind*/) const { return false; }
    // Makes this the device of one of a communicator's members, before its first stream. Collectives
    // are among what it supports from then on. A run is one with those of the other members: whoever runs
    // them queues the same segment of every member, with one stop word, before waiting for any.
    // `communicator` outlives the device. Only where can_embed() says so.
    virtual void join(Communicator& communicator, int member);

    // Measures products of many rows with weights like this one, stored in that buffer type, while the device
    // has nothing else to do. nullopt from devices that cannot tell.
    virtual std::optional<ProductSpeed> measure_product(const ir::TensorDesc& /*weight*/, int /*layout*/) {
        return std::nullopt;
    }

    // Begins to time runs, from zero, or ends it; off at first, when no run reads a clock. Timed runs may be
    // a little slower, with the same bits. Only while no run is under way.
    virtual void time_runs(bool /*on*/) {}
    // By member, what was timed since time_runs(true); empty from devices that cannot tell. Only while no run
    // is under way.
    virtual std::vector<RunTimes> run_times() const { return {}; }
};

// A kind of memory with a byte layout for tensors.
class BufferType {
  public:
    virtual ~BufferType() = default;

    virtual const BufferTypeDescription& describe() const = 0;

    // Bytes one tensor takes: its layout, rounded up to the alignment, and the over-read behind it. Pure.
    virtual int64_t bytes(const StoredTensor& tensor) const = 0;
    // The same by member of the device.
    virtual std::vector<int64_t> member_bytes(const StoredTensor& tensor) const { return {bytes(tensor)}; }

    // One buffer with room for all tensors, zero from the start. Throws Error naming bytes wanted and free
    // when there is not enough memory.
    virtual std::unique_ptr<Buffer> alloc(std::span<const StoredTensor> tensors, Usage usage) = 0;
    std::unique_ptr<Buffer> alloc(std::span<const ir::TensorDesc> tensors, Usage usage);

    // A buffer of one tensor that uses the host's bytes where they are, which must outlive it and not change;
    // `readable_behind` bytes behind them may be read too. nullptr where the layout or the device cannot.
    virtual std::unique_ptr<Buffer> wrap(std::span<const std::byte> host, const StoredTensor& tensor,
                                         int64_t readable_behind) = 0;
    // Whether wrap() will do it, for a tensor with so many bytes behind it.
    virtual bool can_wrap(const StoredTensor& tensor, int64_t readable_behind) const = 0;

    // Packed bytes can be kept and serve another time. By member, what images a tensor's bytes are; empty
    // when one of them is plain rows, which the file has already, or nothing the host can read. What an
    // image's bytes depend on is the tensor's values, its desc, the member's slice, and this description.
    // Pure.
    virtual std::vector<ImageDescription> describe_images(const StoredTensor& tensor) const;
    // A buffer of one tensor that uses such images where they are, each aligned as describe() says; they must
    // outlive it and not change. nullptr where they are not those that describe_images() tells of.
    virtual std::unique_ptr<Buffer> wrap_images(std::span<const Image> images, const StoredTensor& tensor);
};

class Buffer {
  public:
    virtual ~Buffer() = default;

    virtual Usage usage() const = 0;
    virtual BufferType& type() const = 0;
    virtual std::span<const ir::TensorDesc> tensors() const = 0;
    // Bytes of device memory this buffer holds; 0 for a wrapped one.
    virtual int64_t stored_bytes() const = 0;
    // The same by member of the device.
    virtual std::vector<int64_t> member_stored_bytes() const { return {stored_bytes()}; }
    // A tensor's images as its type describes them, empty where there are none. They stay where they are as
    // long as the buffer lives; their bytes are final once the stream that wrote them is synchronised.
    virtual std::vector<Image> images(int32_t tensor) const;
};

// `rows` pieces of `row_bytes` bytes, `stride` bytes apart, in one tensor of a buffer, from byte `offset` of
// its row layout on. One piece by default. On the host side the pieces are always contiguous.
struct Region {
    Buffer* buffer = nullptr;
    int32_t tensor = 0;
    int64_t offset = 0;
    int64_t row_bytes = 0;
    int64_t rows = 1;
    int64_t stride = 0;

    int64_t bytes() const { return row_bytes * rows; }
};

// The whole of a tensor.
Region whole(Buffer& buffer, int32_t tensor);

// A queue of work done in order. Errors of queued work go to the stop word of their run and, from transfers,
// to the next synchronise(), with the device's name.
class Stream {
  public:
    virtual ~Stream() = default;

    // Consumes the caller's bytes before it returns. Tensors in a packed layout are written whole; the
    // device's own threads pack them. Throws Error when the region does not lie in the tensor.
    virtual void write(const Region& to, std::span<const std::byte> from) = 0;
    // `to` is filled when synchronise() returns, and must live until then. Throws Error for a packed layout
    // ("packed") and when the region does not lie in the tensor.
    virtual void read(const Region& from, std::span<std::byte> to) = 0;
    // Within the device. Throws Error as write and read do, and when the byte counts differ.
    virtual void copy(const Region& from, const Region& to) = 0;

    // Queues one segment. It does nothing when `stop` is set before it starts, leaves at the next op when it
    // is set meanwhile, and sets it with device and op when it fails. Program and word live until
    // synchronise().
    virtual void run(BoundProgram& program, int segment, StopWord& stop) = 0;

    // Marks this place in the queue; a later record moves the mark.
    virtual void record(Event& event) = 0;
    // Later work of this stream starts after what the event marks, without blocking the host. An event that
    // was never recorded holds nothing up.
    virtual void wait(Event& event) = 0;

    // Returns when all queued work is done. Throws the first Error of a transfer since the last
    // synchronise().
    virtual void synchronise() = 0;
};

class Event {
  public:
    virtual ~Event() = default;
    // Everything before the mark is done, or nothing was ever recorded.
    virtual bool done() const = 0;
    // Returns when done() is true. A device whose work needs the caller's thread lends it. Only the thread
    // that uses the recording stream may call it.
    virtual void block() = 0;
};

// What a program needs to be bound, known before anything is allocated.
struct ProgramNeeds {
    int64_t scratch_bytes = 0;          // intermediate values and the kernels' workspace
    int64_t input_values = 0;           // int32 values of the step block (ir::StepLayout::values)
    std::vector<StoredTensor> outputs;  // the graph's outputs, in order
};

// What a program runs on. A slot's buffers may be larger than this program needs.
struct Bindings {
    std::span<const Region> weights;  // by the model's weight index; whole tensors
    std::span<const Region> state;    // by state index; whole tensors
    Buffer* inputs = nullptr;         // tensor 0: I32 [>= input_values]
    Buffer* outputs = nullptr;        // tensor i: output i, at least as many rows
    Buffer* scratch = nullptr;        // tensor 0: at least scratch_bytes
};

// A compiled graph: segments separated by host actions.
class Program {
  public:
    virtual ~Program() = default;
    virtual const ProgramNeeds& needs() const = 0;
    virtual int segments() const = 0;
    // The node of the host action behind a segment; nullptr behind the last.
    virtual const ir::Node* host_action(int segment) const = 0;
    // Where the members exchange values, in order; none on a device that is not made of several.
    virtual std::span<const CollectiveDescription> collectives() const { return {}; }
    // Ties the program to memory. Addresses do not change afterwards.
    virtual std::unique_ptr<BoundProgram> bind(const Bindings& bindings) = 0;
};

class BoundProgram {
  public:
    virtual ~BoundProgram() = default;
    virtual const Program& program() const = 0;
    // Host work before a step, from the step's data as the host has it. Allocates nothing.
    virtual void prepare(const ir::StepView& step) = 0;
    // Where an input of the host action behind a segment lies. The host may read it once the segment has run,
    // until the next one is queued.
    virtual Region shown(int segment, int input) const = 0;
    // Where the host writes an output of it, before the next segment is queued. A host action that is a view
    // receives nothing.
    virtual Region received(int segment, int output) const = 0;
};

}  // namespace plait::device
