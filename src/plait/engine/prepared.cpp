#include "plait/engine/prepared.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/engine/devices.h"
#include "plait/engine/ladder.h"
#include "plait/engine/member_speed.h"
#include "plait/engine/memory_fit.h"
#include "plait/engine/shares.h"

namespace plait::engine {
namespace {

constexpr int64_t kDefaultContext = 8192;
constexpr const char* kEqualShares = "equal shares";
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

using device::StoredTensor;

std::vector<StoredTensor> state_tensors_of(const Prepared& prepared,
                                           std::span<const models::StatePages> pages) {
    const auto groups = prepared.model->state_groups();
    std::vector<StoredTensor> tensors;
    for (size_t group = 0; group < groups.size(); ++group) {
        for (const ir::TensorDesc& desc : group_descs(groups[group], pages[group]))
            tensors.emplace_back(desc, prepared.placement.state[tensors.size()]);
    }
    return tensors;
}

int64_t stored_bytes(device::BufferType& type, std::span<const StoredTensor> tensors) {
    int64_t bytes = 0;
    for (const StoredTensor& tensor : tensors) bytes += type.bytes(tensor);
    return bytes;
}

// Of a context that is not settled yet.
int64_t state_bytes(const Prepared& prepared, const EngineOptions& asked, int64_t context) {
    const std::vector<models::StatePages> pages = state_pages(*prepared.model, asked, context);
    return stored_bytes(prepared.device->row_buffer_type(), state_tensors_of(prepared, pages));
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
    const bool first = prepared.model == nullptr;  // what there is to warn of is said once
    prepared.model = load_for(prepared.file, options, options.context > 0 ? options.context : trained, first);
    prepared.placement =
        prepared.device->place_model(prepared.model->weights(), prepared.model->state_groups());
    ContextChoice choice = wanted;
    if (options.context == 0) choice = {trained, "as trained"};
    if (options.context < 0) choice = default_context(prepared, asked, trained);
    const int64_t limit = prepared.model->summary().max_context;
    if (limit > 0 && choice.tokens > limit) choice = {limit, "the model has no positions beyond"};
    if (first && limit > 0 && options.context > limit) {
        log_warning(fmt::format("context {} is more than this model has positions for; using {}",
                                options.context, limit));
    }
    options.context = choice.tokens;
    prepared.model = load_for(prepared.file, options, options.context, false);
    return choice.why;
}

void compile(Prepared& prepared) {
    const EngineOptions& options = prepared.options;
    prepared.ladder = capacity_ladder(options.micro_batch, options.max_sequences, options.max_outputs);
    if (options.candidates > 0)
        for (ir::Capacity& capacity : prepared.ladder) capacity.choices = capacity.outputs;
    std::vector<ir::Graph> graphs;
    std::vector<const ir::Graph*> all;
    for (const ir::Capacity& capacity : prepared.ladder) {
        graphs.push_back(prepared.model->build({.capacity = capacity,
                                                .pages = prepared.pages,
                                                .candidates = options.candidates,
                                                .taps = static_cast<bool>(options.tap)}));
    }
    for (const ir::Graph& graph : graphs) all.push_back(&graph);
    prepared.layouts = prepared.device->choose_layouts(all, prepared.model->weights().size());
    for (const ir::Graph& graph : graphs)
        prepared.programs.push_back(prepared.device->compile(graph, prepared.layouts));
}

void count_memory(Prepared& prepared) {
    device::Device& device = *prepared.device;
    device::BufferType& rows = device.row_buffer_type();
    const auto count = device.describe().member_count();
    prepared.members.assign(static_cast<size_t>(count), {});
    const auto add = [&](const StoredTensor& tensor, int64_t MemoryNeeds::*what, int64_t times) {
        const std::vector<int64_t> bytes = rows.member_bytes(tensor);
        for (size_t member = 0; member < bytes.size(); ++member)
            prepared.members[member].*what += bytes[member] * times;
    };
    const auto weights = load::weight_bytes(prepared.model_weights(), prepared.load_options());
    for (size_t member = 0; member < weights.size(); ++member) {
        prepared.members[member].weights = weights[member].stored;
        prepared.members[member].mapped_weights = weights[member].mapped;
        prepared.members[member].mirrored = weights[member].mirrored;
    }
    const int slots = prepared.options.slots;
    for (const StoredTensor& tensor : prepared.state_tensors()) add(tensor, &MemoryNeeds::state, 1);
    for (const StoredTensor& tensor : prepared.slot_outputs()) add(tensor, &MemoryNeeds::compute, slots);
    add(ir::TensorDesc{ir::DType::I32, {prepared.slot_input_values()}}, &MemoryNeeds::compute, slots);
    add(ir::TensorDesc{ir::DType::F32, {prepared.slot_scratch_bytes() / 4 + 1}}, &MemoryNeeds::compute,
        slots);
    prepared.memory = {};
    for (const MemoryNeeds& member : prepared.members) prepared.memory += member;
}

// Everything that follows from a context.
void settle(Prepared& prepared, const EngineOptions& asked, const ContextChoice& context) {
    EngineOptions& options = prepared.options;
    const std::string why = choose_context(prepared, asked, context);
    options.micro_batch = micro_batch_for(asked, options.context);
    // No step has more tokens than a micro-batch.
    options.max_outputs =
        std::min(asked.max_outputs == 0 ? asked.max_sequences : asked.max_outputs, options.micro_batch);
    options.candidates = std::min(asked.candidates, prepared.model->summary().vocabulary);
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
    if (options.candidates < 0)
        throw Error(fmt::format("--candidates must not be negative, found {}", options.candidates));
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

MemoryNeeds& MemoryNeeds::operator+=(const MemoryNeeds& more) {
    weights += more.weights;
    mapped_weights += more.mapped_weights;
    mirrored += more.mirrored;
    state += more.state;
    compute += more.compute;
    return *this;
}

std::vector<StoredTensor> Prepared::state_tensors() const { return state_tensors_of(*this, pages); }

std::vector<StoredTensor> Prepared::weight_tensors() const {
    std::vector<StoredTensor> tensors;
    for (const ir::WeightSpec& weight : model->weights()) {
        const size_t index = tensors.size();
        tensors.emplace_back(weight.desc, placement.weights[index], static_cast<int32_t>(index));
    }
    return tensors;
}

load::ModelWeights Prepared::model_weights() const {
    return {.file = file,
            .specs = model->weights(),
            .tensors = weight_tensors(),
            .layouts = layouts,
            .device = *device};
}

load::LoadOptions Prepared::load_options() const {
    return {.use_mapping = options.use_mapping, .cache = &pack_cache};
}

int64_t Prepared::group_bytes(size_t group) const {
    const auto groups = model->state_groups();
    size_t first = 0;
    for (size_t before = 0; before < group; ++before) first += groups[before].tensors.size();
    const std::vector<StoredTensor> all = state_tensors();
    return stored_bytes(device->row_buffer_type(),
                        std::span(all).subspan(first, groups[group].tensors.size()));
}

int64_t Prepared::slot_input_values() const {
    int64_t values = 0;
    for (const auto& program : programs) values = std::max(values, program->needs().input_values);
    return values;
}

std::vector<StoredTensor> Prepared::slot_outputs() const {
    std::vector<StoredTensor> largest = programs.front()->needs().outputs;
    for (const auto& program : programs) {
        for (size_t i = 0; i < largest.size(); ++i) {
            const StoredTensor& tensor = program->needs().outputs[i];
            if (tensor.desc.bytes() > largest[i].desc.bytes()) largest[i] = tensor;
        }
    }
    return largest;
}

int64_t Prepared::slot_scratch_bytes() const {
    int64_t bytes = 0;
    for (const auto& program : programs) bytes = std::max(bytes, program->needs().scratch_bytes);
    return bytes;
}

namespace {

// Makes the device, which gives its members these shares; none: equal ones.
void make_device_with(Prepared& prepared, const std::vector<double>& shares, const std::string& note) {
    prepared.programs.clear();  // they belong to the former device
    prepared.options.split.shares = shares;
    prepared.device = make_device(prepared.options, *prepared.cores);
    const auto members = static_cast<size_t>(prepared.device->describe().member_count());
    prepared.shares = shares.size() == members && members > 1 ? shares : std::vector<double>(members, 1.0);
    const double sum = std::accumulate(prepared.shares.begin(), prepared.shares.end(), 0.0);
    for (double& share : prepared.shares) share /= sum;
    prepared.shares_note = note;
}

// Keeps the device with these shares if less is missing then.
bool try_shares(Prepared& prepared, const EngineOptions& asked, const std::vector<double>& shares,
                const std::string& note) {
    if (shares.size() < 2) return false;
    const int64_t missing = missing_memory(prepared);
    const std::vector<double> before = prepared.options.split.shares;
    const std::string note_before = prepared.shares_note;
    make_device_with(prepared, shares, note);
    settle(prepared, asked, {asked.context, asked.context_reason});
    if (missing_memory(prepared) < missing) return prepared.shares_follow_memory = true;
    make_device_with(prepared, before, note_before);
    settle(prepared, asked, {asked.context, asked.context_reason});
    return false;
}

// Where the shares do not fit, others may.
void share_by_memory(Prepared& prepared, const EngineOptions& asked) {
    if (missing_memory(prepared) <= 0) return;
    const std::vector<double> wanted = prepared.options.split.shares;
    if (!wanted.empty()) {
        try_shares(prepared, asked, shares_by_speed_and_memory(prepared, wanted),
                   "shares by measured speed as far as the free memory goes");
        if (missing_memory(prepared) <= 0) return;
    }
    try_shares(prepared, asked, shares_by_memory(prepared),
               fmt::format("shares by free memory, since {} do not fit",
                           wanted.empty() ? "equal ones" : "those by speed"));
}

// By member, in one unit: threads, where all else is alike; empty where that cannot be said.
std::vector<double> speeds_by_threads(const device::DeviceDescription& device) {
    std::vector<double> speeds;
    for (int member = 0; member < device.member_count(); ++member) {
        const device::DeviceDescription& one = device.member(static_cast<size_t>(member));
        if (one.kind != "cpu" || one.signature != device.member(0).signature) return {};
        speeds.push_back(one.workers);
    }
    return speeds;
}

// Makes the device with the shares that were asked for, or with equal ones, or with those that its members'
// speeds ask for.
void make_first_device(Prepared& prepared) {
    const SplitOptions& split = prepared.options.split;
    const bool measured = split.by_speed && split.shares.empty() && prepared.options.described.empty();
    std::vector<std::unique_ptr<device::Device>> members;
    if (measured) members = make_members(prepared.options, *prepared.cores);
    if (members.size() < 2) {
        const bool described = split.by_speed && !prepared.options.described.empty();
        make_device_with(prepared, split.shares,
                         !split.shares.empty() ? "shares as asked"
                         : described ? "equal shares, since devices that are not here cannot be measured"
                                     : kEqualShares);
        prepared.speeds = speeds_by_threads(prepared.device->describe());
        return;
    }
    for (const MemberSpeed& speed : measure_members(members, most_common_format(prepared.file)))
        prepared.speeds.push_back(speed.both());
    const std::vector<double> shares = shares_by_speed(prepared.speeds);
    members.clear();
    const bool equal = std::ranges::count(shares, shares.front()) == static_cast<int64_t>(shares.size());
    make_device_with(prepared, shares,
                     equal ? "equal shares, by measured speed"
                           : fmt::format("shares by measured speed (-ts {})", format_shares(shares)));
}

// Makes room by a smaller context: the largest to within an eighth for which nothing is missing, or, where
// none is small enough, the smallest. What else shrinks with it (step inputs, scratch) shows only once it is
// tried.
void shrink_context(Prepared& prepared, const EngineOptions& asked) {
    int64_t fails = prepared.options.context, fits = 0;
    const auto try_context = [&](int64_t tokens) {
        settle(prepared, asked, {tokens, "what fits beside the weights"});
        (missing_memory(prepared) > 0 ? fails : fits) = tokens;
    };
    while (fits == 0 && fails > 1) {
        const int64_t guess = largest_context(prepared, asked, fails, affordable_state(prepared));
        try_context(guess > 0 && guess < fails ? guess : fails / 2);
    }
    while (fits > 0 && fails - fits > std::max<int64_t>(1, fits / 8)) try_context(fits + (fails - fits) / 2);
    if (fits > 0 && prepared.options.context != fits) try_context(fits);
}

// Last of all, so that nothing that is decided depends on what a cache happens to have; only what is counted
// as stored and as mapped does.
void look_for_packed_weights(Prepared& prepared) {
    if (!prepared.options.use_mapping) return;
    prepared.pack_cache = load::PackCache(prepared.options.pack_cache, prepared.model_weights());
    if (prepared.pack_cache.found()) count_memory(prepared);
}

}  // namespace

Prepared prepare(const EngineOptions& options, std::unique_ptr<Cores> cores) {
    validate(options);
    Prepared prepared{.options = options, .file = gguf::File::open(options.model)};
    prepared.cores = cores != nullptr ? std::move(cores) : std::make_unique<Cores>();
    prepared.device_notes = device_notes(options, *prepared.cores);
    const bool asked = !options.split.shares.empty();
    make_first_device(prepared);
    settle(prepared, options, {options.context, options.context_reason});
    if (!asked) share_by_memory(prepared, options);
    // What weights and compute take beside the cache is known only now; a context nobody asked for makes room
    // for them.
    if (options.context < 0 && missing_memory(prepared) > 0) shrink_context(prepared, options);
    look_for_packed_weights(prepared);
    return prepared;
}

}  // namespace plait::engine
