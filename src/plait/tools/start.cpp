#include "plait/tools/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "plait/base/ensure.h"
#include "plait/base/log.h"
#include "plait/engine/shares.h"

namespace plait::tools {
namespace {

double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string member_line(const engine::Prepared& prepared, size_t member) {
    const device::DeviceDescription& device = prepared.device->describe().member(member);
    const engine::MemoryNeeds& memory = prepared.members[member];
    const bool alone = prepared.members.size() == 1;
    const std::string share =
        alone ? "whole model" : fmt::format("{:.1f} % of the model", 100 * prepared.shares[member]);
    const std::string mirrored =
        alone ? "" : fmt::format("{:.1f} MiB of it mirrored, ", mib(memory.mirrored));
    return fmt::format(
        "{}: {}, {}, {:.1f} MiB weights ({}{:.1f} MiB of it mapped), {:.1f} MiB cache, "
        "{:.1f} MiB compute\n",
        device.name, device.details, share, mib(memory.all_weights()), mirrored, mib(memory.mapped_weights),
        mib(memory.state), mib(memory.compute));
}

std::string mode_line(const engine::Prepared& prepared) {
    const engine::SplitOptions& split = prepared.options.split;
    const auto members = static_cast<int>(prepared.members.size());
    if (members == 1) {
        return fmt::format("one device{}: nothing to split, no transport\n",
                           split.mode == engine::SplitMode::none ? " (-sm none)" : "");
    }
    const auto collectives = prepared.programs.front()->collectives();
    const bool stepped = std::ranges::count(collectives, device::CollectivePlace::between_programs,
                                            &device::CollectiveDescription::place) > 0;
    const char* transport = stepped ? "values handed over by the host" : "values read where they are";
    if (split.mode == engine::SplitMode::row) {
        return fmt::format(
            "row mode over {} members (-sm row, for comparison), {} does all but products, {}; {} "
            "collectives per step, {}\n",
            members, prepared.device->describe().member(static_cast<size_t>(split.main_device)).name,
            prepared.shares_note, collectives.size(), transport);
    }
    const bool by_default = split.reduce == collectives::Way::automatic;
    const auto sum =
        std::ranges::find(collectives, std::string("all_reduce"), &device::CollectiveDescription::kind);
    ENSURE(sum != collectives.end(), "in tensor mode something is summed");
    return fmt::format(
        "tensor mode over {} members ({}), {}; {} collectives per step, sums by {} in {} round{} ({}), {}\n",
        members,
        split.mode == engine::SplitMode::automatic ? "the default for several devices" : "-sm tensor",
        prepared.shares_note, collectives.size(), sum->way, sum->rounds, sum->rounds == 1 ? "" : "s",
        by_default ? "the default" : "--reduce", transport);
}

// The number in a part's name: 3 of "blk.3.attn"; -1 where there is none.
int layer_of(const std::string& part) {
    const size_t digits = part.find_first_of("0123456789");
    int layer = -1;
    if (digits != std::string::npos) std::from_chars(part.data() + digits, part.data() + part.size(), layer);
    return layer;
}

// "0-3, 7" of ascending numbers.
std::string runs_text(const std::vector<int>& numbers) {
    std::string text;
    for (size_t begin = 0; begin < numbers.size();) {
        size_t end = begin + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[begin]);
        if (end - begin > 1) text += fmt::format("-{}", numbers[end - 1]);
        begin = end;
    }
    return text;
}

// Layers in whose attention the member has no query head.
std::vector<int> layers_without_heads(const engine::Prepared& prepared, int member) {
    std::vector<int> layers;
    const auto weights = prepared.model->weights();
    for (size_t i = 0; i < weights.size(); ++i) {
        const ir::Layout& layout = prepared.placement.weights[i];
        if (weights[i].role() == ir::Role::attention_output && layout.is(ir::LayoutKind::split) &&
            weights[i].desc.shape.rank() == 2 && layout.extent_of(member) == 0)
            layers.push_back(layer_of(weights[i].cut.part));
    }
    std::ranges::sort(layers);
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    return layers;
}

// One member that makes the others wait; empty if none does. In row mode the main member does all the rest,
// which shares say nothing of.
std::string pace_warning(const engine::Prepared& prepared) {
    if (prepared.speeds.empty() || prepared.options.split.mode == engine::SplitMode::row) return {};
    const engine::Pace pace = engine::pace_of(prepared.shares, prepared.speeds);
    if (pace.slowest < 0) return {};
    const auto name = [&](int member) {
        return prepared.device->describe().member(static_cast<size_t>(member)).name;
    };
    const std::string better =
        prepared.shares_follow_memory
            ? "the free memory allows no other shares"
            : fmt::format("-ts {} would be even",
                          engine::format_shares(engine::shares_by_speed(prepared.speeds)));
    return fmt::format(
        "{} sets the pace: its {:.1f} % of the model {} take it about {:.1f} times as long as {} takes for "
        "{:.1f} %; {}",
        name(pace.slowest), 100 * prepared.shares[static_cast<size_t>(pace.slowest)],
        prepared.options.split.by_speed ? "(as measured)" : "(by its threads)", pace.times,
        name(pace.fastest), 100 * prepared.shares[static_cast<size_t>(pace.fastest)], better);
}

}  // namespace

std::string start_text(const engine::Prepared& prepared) {
    std::string text = prepared.device_notes.empty() ? "" : prepared.device_notes + "\n";
    for (size_t member = 0; member < prepared.members.size(); ++member) text += member_line(prepared, member);
    return text + mode_line(prepared) + prepared.context_note;
}

std::vector<std::string> start_warnings(const engine::Prepared& prepared) {
    std::vector<std::string> warnings;
    const bool by_rows = prepared.options.split.mode == engine::SplitMode::row;
    const auto members = static_cast<int>(prepared.members.size());
    for (int member = 0; members > 1 && member < members; ++member) {
        const std::string& name = prepared.device->describe().member(static_cast<size_t>(member)).name;
        const bool does_the_rest = by_rows && member == prepared.options.split.main_device;
        if (prepared.shares[static_cast<size_t>(member)] == 0 && !does_the_rest) {
            warnings.push_back(fmt::format(
                "{} has a share of nothing: it holds and computes nothing but what every member does", name));
            continue;
        }
        // In row mode nobody but the main member has heads.
        const std::vector<int> layers = by_rows ? std::vector<int>() : layers_without_heads(prepared, member);
        if (layers.empty()) continue;
        warnings.push_back(fmt::format(
            "{} has no query heads in layer{} {}: it does nothing there but its part of the feed-forward "
            "network; fewer members or other shares (-ts) would give it some",
            name, layers.size() == 1 ? "" : "s", runs_text(layers)));
    }
    if (const std::string pace = pace_warning(prepared); !pace.empty()) warnings.push_back(pace);
    return warnings;
}

void tell_start(const engine::Prepared& prepared) {
    log_info(start_text(prepared));
    for (const std::string& warning : start_warnings(prepared)) log_warning(warning);
}

}  // namespace plait::tools
