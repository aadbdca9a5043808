#include "plait/engine/prepared.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/engine/devices.h"
#include "plait/engine/ladder.h"
#include "plait/load/weights.h"
#include "plait/plan/place.h"
#include "plait/plan/residency.h"

namespace plait::engine {
namespace {

constexpr int64_t kDefaultContext = 8192;
// Far more than any machine has cores for; as many threads as one likes would take minutes to meet.
constexpr int kMaxThreads = 1024;

int64_t micro_batch_for(const EngineOptions& asked, int64_t context) {
    return std::min({asked.micro_batch, asked.batch, context * asked.max_sequences});
}

// Pages with which no step within the options is ever short of any.
std::vector<models::StatePages> state_pages(const models::Model& model, const EngineOptions& asked,
                                            int64_t context) {
    std::vector<models::StatePages> pages;
    for (const ir::StateGroupSpec& group : model.state_groups()) {
        const state::GroupNeeds needs =
            state::needed_pages(asked.page_tokens, group.window,
                                {.sequences = asked.max_sequences,
                                 .tokens_per_sequence = context,
                                 .tokens_per_step = micro_batch_for(asked, context)});
        pages.push_back({.page_tokens = asked.page_tokens,
                         .pages = needs.pages,
                         .max_pages_per_sequence = needs.pages_per_sequence});
    }
    return pages;
}

std::vector<ir::TensorDesc> group_descs(const ir::StateGroupSpec& group, const models::StatePages& pages) {
    std::vector<ir::TensorDesc> descs;
    for (const ir::StateTensorSpec& tensor : group.tensors)
        descs.push_back({tensor.type, {pages.pages, tensor.heads, pages.page_tokens, tensor.width}});
    return descs;
}

int64_t stored_bytes(device::BufferType& type, std::span<const ir::TensorDesc> descs) {
    int64_t bytes = 0;
    for (const ir::TensorDesc& desc : descs) bytes += type.bytes(desc);
    return bytes;
}

// Of a context that is not settled yet.
int64_t state_bytes(const Prepared& prepared, const EngineOptions& asked, int64_t context) {
    const auto groups = prepared.model->state_groups();
    const std::vector<models::StatePages> pages = state_pages(*prepared.model, asked, context);
    int64_t bytes = 0;
    for (size_t i = 0; i < groups.size(); ++i)
        bytes += stored_bytes(prepared.device->row_buffer_type(), group_descs(groups[i], pages[i]));
    return bytes;
}

// The largest context up to `most` whose state takes at most so many bytes; 0 if none does.
int64_t largest_context(const Prepared& prepared, const EngineOptions& asked, int64_t most, int64_t bytes) {
    int64_t fits = 0;
    for (int64_t beyond = most + 1; beyond - fits > 1;) {
        const int64_t middle = fits + (beyond - fits) / 2;
        (state_bytes(prepared, asked, middle) <= bytes ? fits : beyond) = middle;
    }
    return fits;
}

std::unique_ptr<models::Model> load_for(const gguf::File& file, const EngineOptions& options, int64_t context,
                                        bool warn) {
    return models::load_model(
        file,
        {.context = context, .key_type = options.key_type, .value_type = options.value_type, .warn = warn});
}

struct ContextChoice {
    int64_t tokens = 0;
    std::string why;
};

ContextChoice default_context(const Prepared& prepared, const EngineOptions& asked, int64_t trained) {
    const int64_t most = std::min(trained, kDefaultContext);
    const int64_t half = prepared.device->describe().memory_bytes / 2;
    const int64_t affordable = largest_context(prepared, asked, most, half);
    if (affordable < most) return {std::max<int64_t>(1, affordable), "half of the free memory"};
    return {most, trained <= kDefaultContext ? "as trained" : "the default"};
}

// Settles options.context, which asks for `wanted`, and loads the model for it. Returns why it is what it is.
std::string choose_context(Prepared& prepared, const EngineOptions& asked, const ContextChoice& wanted) {
    EngineOptions& options = prepared.options;
    options.context = wanted.tokens;
    const int64_t trained = models::trained_context(prepared.file);
    prepared.model = load_for(prepared.file, options, options.context > 0 ? options.context : trained, true);
    ContextChoice choice = wanted;
    if (options.context == 0) choice = {trained, "as trained"};
    if (options.context < 0) choice = default_context(prepared, asked, trained);
    const int64_t limit = prepared.model->summary().max_context;
    if (limit > 0 && choice.tokens > limit) choice = {limit, "the model has no positions beyond"};
    if (limit > 0 && options.context > limit) {
        log_warning(fmt::format("context {} is more than this model has positions for; using {}",
                                options.context, limit));
    }
    options.context = choice.tokens;
    prepared.model = load_for(prepared.file, options, options.context, false);
    return choice.why;
}

void compile(Prepared& prepared) {
    const EngineOptions& options = prepared.options;
    const device::DeviceDescription& description = prepared.device->describe();
    prepared.ladder = capacity_ladder(options.micro_batch, options.max_sequences, options.max_outputs);
    std::vector<ir::Graph> graphs;
    std::vector<const ir::Graph*> all;
    for (const ir::Capacity& capacity : prepared.ladder) {
        graphs.push_back(prepared.model->build(
            {.capacity = capacity, .pages = prepared.pages, .taps = static_cast<bool>(options.tap)}));
    }
    for (const ir::Graph& graph : graphs) {
        const device::DeviceDescription* const devices[] = {&description};
        plan::place(graph, devices);  // refuses what the device cannot run, naming it
        all.push_back(&graph);
    }
    prepared.layouts = plan::choose_residency(all, prepared.model->weights().size(), description);
    for (const ir::Graph& graph : graphs)
        prepared.programs.push_back(prepared.device->compile(graph, prepared.layouts));
}

void count_memory(Prepared& prepared) {
    device::Device& device = *prepared.device;
    device::BufferType& rows = device.row_buffer_type();
    MemoryNeeds& memory = prepared.memory;
    memory = {};
    const load::WeightBytes weights = load::weight_bytes(
        prepared.file, prepared.model->weights(), prepared.layouts, device, prepared.options.use_mapping);
    memory.weights = weights.stored;
    memory.mapped_weights = weights.mapped;
    memory.state = stored_bytes(rows, prepared.state_descs());
    int64_t slot = rows.bytes({ir::DType::I32, {prepared.slot_input_values()}});
    slot += stored_bytes(rows, prepared.slot_outputs());
    slot += rows.bytes({ir::DType::F32, {prepared.slot_scratch_bytes() / 4 + 1}});
    memory.compute = slot * prepared.options.slots;
}

// Everything that follows from a context.
void settle(Prepared& prepared, const EngineOptions& asked, const ContextChoice& context) {
    EngineOptions& options = prepared.options;
    const std::string why = choose_context(prepared, asked, context);
    options.micro_batch = micro_batch_for(asked, options.context);
    options.max_outputs = asked.max_outputs == 0 ? asked.max_sequences : asked.max_outputs;
    prepared.pages = state_pages(*prepared.model, asked, options.context);
    prepared.programs.clear();
    compile(prepared);
    count_memory(prepared);
    prepared.context_note = fmt::format("context {} tokens ({}), {:.1f} MiB of cache", options.context, why,
                                        static_cast<double>(prepared.memory.state) / (1 << 20));
}

}  // namespace

void validate(const EngineOptions& options) {
    const auto positive = [](int64_t value, const char* what) {
        if (value < 1) throw Error(fmt::format("{} must be at least 1, found {}", what, value));
    };
    positive(options.batch, "the batch (-b)");
    positive(options.micro_batch, "the micro-batch (-ub)");
    positive(options.max_sequences, "the number of sequences");
    positive(options.page_tokens, "tokens per page");
    positive(options.slots, "the number of slots");
    if (options.threads < 0)
        throw Error(fmt::format("threads (-t) must not be negative, found {}", options.threads));
    if (options.threads > kMaxThreads) {
        throw Error(fmt::format("threads (-t) must be at most {}, found {}", kMaxThreads, options.threads));
    }
    if (options.context < -1 || options.context > std::numeric_limits<int32_t>::max()) {
        throw Error(fmt::format("the context (-c) must be 0 to {} tokens, found {}",
                                std::numeric_limits<int32_t>::max(), options.context));
    }
}

std::vector<ir::TensorDesc> Prepared::state_descs() const {
    std::vector<ir::TensorDesc> descs;
    for (size_t group = 0; group < pages.size(); ++group) {
        const auto more = group_descs(model->state_groups()[group], pages[group]);
        descs.insert(descs.end(), more.begin(), more.end());
    }
    return descs;
}

int64_t Prepared::group_bytes(size_t group) const {
    return stored_bytes(device->row_buffer_type(), group_descs(model->state_groups()[group], pages[group]));
}

int64_t Prepared::slot_input_values() const {
    int64_t values = 0;
    for (const auto& program : programs) values = std::max(values, program->needs().input_values);
    return values;
}

std::vector<ir::TensorDesc> Prepared::slot_outputs() const {
    std::vector<ir::TensorDesc> largest = programs.front()->needs().outputs;
    for (const auto& program : programs) {
        for (size_t i = 0; i < largest.size(); ++i) {
            const ir::TensorDesc& desc = program->needs().outputs[i];
            if (desc.bytes() > largest[i].bytes()) largest[i] = desc;
        }
    }
    return largest;
}

int64_t Prepared::slot_scratch_bytes() const {
    int64_t bytes = 0;
    for (const auto& program : programs) bytes = std::max(bytes, program->needs().scratch_bytes);
    return bytes;
}

Prepared prepare(const EngineOptions& options) {
    validate(options);
    Prepared prepared{.options = options, .file = gguf::File::open(options.model)};
    prepared.cores = std::make_unique<Cores>();
    prepared.device = make_device(options, *prepared.cores);
    settle(prepared, options, {options.context, "as asked"});
    // What weights and compute take beside the cache is known only now; a context nobody asked for makes room
    // for them.
    const int64_t missing = prepared.memory.total() - prepared.device->describe().memory_bytes;
    if (options.context < 0 && missing > 0) {
        const int64_t smaller =
            largest_context(prepared, options, prepared.options.context, prepared.memory.state - missing);
        if (smaller > 0) settle(prepared, options, {smaller, "what fits beside the weights"});
    }
    return prepared;
}

void require_memory(const Prepared& prepared) {
    const int64_t needed = prepared.memory.total();
    const int64_t free = prepared.device->describe().memory_bytes;
    if (needed <= free) return;
    throw Error(
        fmt::format("{}: the model needs {} bytes of memory (weights {}, cache {}, compute {}) and {} are "
                    "free; a smaller context "
                    "(-c) or micro-batch (-ub) needs less",
                    prepared.device->describe().name, needed, prepared.memory.weights, prepared.memory.state,
                    prepared.memory.compute, free));
}

}  // namespace plait::engine
