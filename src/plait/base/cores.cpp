#include "plait/base/cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/base/text_fields.h"

namespace plait {
namespace {

int usable_cores(const CoreMap& map) {
    const double cpus = static_cast<double>(map.cpus.size());
    return std::max(1, static_cast<int>(std::min(cpus, std::ceil(map.quota))));
}

CoreMap filled(CoreMap map) {
    if (map.filling.empty()) map.filling = map.cpus;
    return map;
}

// Ranges are inclusive: "4" or "0-3".
std::pair<int, int> parse_range(std::string_view text) {
    const size_t dash = text.find('-');
    const auto first = parse_number<int>(text.substr(0, dash));
    const auto last = dash == text.npos ? first : parse_number<int>(text.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
        throw Error(fmt::format("cores: expected a core like '4' or a range like '0-3', found '{}'", text));
    return {*first, *last};
}

}  // namespace

std::string format_cores(std::span<const int> cpus) {
    std::string text;
    for (size_t begin = 0; begin < cpus.size();) {
        size_t end = begin + 1;
        while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
        if (!text.empty()) text += ',';
        text += end - begin == 1 ? fmt::format("{}", cpus[begin])
                                 : fmt::format("{}-{}", cpus[begin], cpus[end - 1]);
        begin = end;
    }
    return text;
}

Cores::Cores(CoreMap map, std::unique_ptr<Binder> binder)
    : map_(filled(std::move(map))),
      usable_(usable_cores(map_)),
      binder_(binder != nullptr ? std::move(binder) : system_binder()) {
    ENSURE(!map_.cpus.empty(), "a process runs on at least one core");
    ENSURE(std::is_sorted(map_.cpus.begin(), map_.cpus.end()), "core lists are ascending");
}

std::vector<int> Cores::parse_list(std::string_view list) const {
    std::vector<int> chosen;
    for (std::string_view part : split(list, ',')) {
        const auto [first, last] = parse_range(part);
        for (int cpu = first; cpu <= last; ++cpu) {
            if (!std::binary_search(map_.cpus.begin(), map_.cpus.end(), cpu))
                throw Error(
                    fmt::format("cores: core {} of '{}' is not among the cores this process may use ({})",
                                cpu, list, format_cores(map_.cpus)));
            if (std::find(chosen.begin(), chosen.end(), cpu) != chosen.end())
                throw Error(fmt::format("cores: core {} is named twice in '{}'", cpu, list));
            chosen.push_back(cpu);
        }
    }
    return chosen;
}

Cores::Lease Cores::lease(int workers, std::span<const int> pins) {
    ENSURE(workers >= 1, "a lease is for at least one worker");
    return Lease(*this, workers, {pins.begin(), pins.end()});
}

void Cores::bind_thread(pthread_t thread, int cpu) {
    if (binder_->bind_thread(thread, cpu) || told_of_thread_.exchange(true)) return;
    log_warning(fmt::format(
        "the system refuses to bind a thread to core {}; threads run where the system likes", cpu));
}

void Cores::bind_memory(void* memory, size_t bytes, int node) {
    if (binder_->bind_memory(memory, bytes, node) || told_of_memory_.exchange(true)) return;
    log_warning(fmt::format(
        "the system refuses to bind memory to NUMA node {}; it lies where it is first touched", node));
}

void Cores::add(int workers, std::span<const int> pins, int sign) {
    std::lock_guard lock(mutex_);
    live_.fetch_add(sign * workers, std::memory_order_relaxed);
    for (int worker = 0; worker < workers && !pins.empty(); ++worker)
        pinned_[pins[static_cast<size_t>(worker) % pins.size()]] += sign;
    const bool shared_core =
        std::any_of(pinned_.begin(), pinned_.end(), [](const auto& core) { return core.second > 1; });
    crowded_.store(live_workers() > usable_ || shared_core, std::memory_order_relaxed);
}

Cores::Lease::Lease(Cores& cores, int workers, std::vector<int> pins)
    : cores_(&cores), workers_(workers), pins_(std::move(pins)) {
    cores_->add(workers_, pins_, +1);
}

Cores::Lease::Lease(Lease&& other) noexcept
    : cores_(std::exchange(other.cores_, nullptr)), workers_(other.workers_), pins_(std::move(other.pins_)) {}

Cores::Lease::~Lease() {
    if (cores_ != nullptr) cores_->add(workers_, pins_, -1);
}

}  // namespace plait
