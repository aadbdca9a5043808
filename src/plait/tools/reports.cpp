#include "plait/tools/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace plait::tools {
namespace {

double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
double gbps(double bytes_per_second) { return bytes_per_second / 1e9; }

// Tokens per second; 0 where there was nothing to time.
double rate(int64_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

// The first token comes out of the prompt, and its time is the prompt's.
int64_t timed_tokens(const engine::Generation& generation) {
    return std::max<int64_t>(0, generation.generated_tokens - 1);
}

nlohmann::json rate_json(const Rate& rate) {
    return {{"median", rate.median}, {"min", rate.min}, {"max", rate.max}};
}

std::string rate_text(const char* label, const Rate& rate) {
    return fmt::format("{:<12} {:>9.2f} tokens/s median, {:.2f} min, {:.2f} max\n", label, rate.median,
                       rate.min, rate.max);
}

double gops(double operations_per_second) { return operations_per_second / 1e9; }

std::string products_text(const ProductReport& products) {
    if (products.kinds.empty()) return "";
    std::string text = fmt::format(
        "multiplying  {:>9.2f} GOPS of products in prompts, {:.0f} % of the kernels' {:.2f} GOPS, {:.0f} % "
        "of "
        "their instructions' {:.2f} GOPS\n",
        gops(products.rate), 100 * products.share_of_kernels(), gops(products.kernels()),
        100 * products.share_of_instructions(), gops(products.instructions()));
    for (const ProductKind& kind : products.kinds) {
        const device::ProductSpeed best = kind.best();
        text += fmt::format(
            "  {:<10} {:>9.2f} GOPS of the kernel alone ({:.2f} before, {:.2f} after), {:.0f} % of its "
            "instructions' {:.2f} GOPS ({:.2f} before, {:.2f} after; one thread {:.2f})\n",
            kind.type, gops(best.kernel), gops(kind.before.kernel), gops(kind.after.kernel),
            100 * kind.share_of_instructions(), gops(best.instructions), gops(kind.before.instructions),
            gops(kind.after.instructions), gops(best.instructions_one));
    }
    if (products.contradicts_itself())
        text += "  more than is possible: other work had the cores while this was measured\n";
    return text;
}

nlohmann::json speed_json(const device::ProductSpeed& speed) {
    return {{"instructions_one_thread", speed.instructions_one},
            {"instructions", speed.instructions},
            {"kernel", speed.kernel}};
}

// Operations per second; null where the device does not tell.
nlohmann::json products_json(const ProductReport& products) {
    if (products.kinds.empty()) return nullptr;
    nlohmann::json kinds = nlohmann::json::array();
    for (const ProductKind& kind : products.kinds) {
        nlohmann::json document = speed_json(kind.best());
        document.update({{"type", kind.type},
                         {"weights_per_token", kind.weights_per_token},
                         {"share_of_instructions", kind.share_of_instructions()},
                         {"before", speed_json(kind.before)},
                         {"after", speed_json(kind.after)}});
        kinds.push_back(document);
    }
    return {{"operations_per_second", products.rate},
            {"kernels", products.kernels()},
            {"share_of_kernels", products.share_of_kernels()},
            {"instructions", products.instructions()},
            {"share_of_instructions", products.share_of_instructions()},
            {"types", kinds}};
}

double us_per_run(double seconds, const device::RunTimes& times) {
    return times.runs == 0 ? 0 : 1e6 * seconds / static_cast<double>(times.runs);
}

// "compute 91.2 % (30120.4 us), reduce ..": of a step. One device has nobody to reduce with.
std::string split_text(const char* label, const std::vector<MemberTimes>& members,
                       device::RunTimes MemberTimes::*pass) {
    if (members.empty() || (members[0].*pass).runs == 0) return "";
    std::string text =
        fmt::format("{} steps of {:.1f} us\n", label, us_per_run((members[0].*pass).all(), members[0].*pass));
    for (const MemberTimes& member : members) {
        const device::RunTimes& times = member.*pass;
        const auto part = [&](const char* what, double seconds) {
            return fmt::format("{} {:>5.1f} % ({:.1f} us)", what, 100 * seconds / times.all(),
                               us_per_run(seconds, times));
        };
        text += fmt::format("  {:<10} {}, ", member.device, part("compute", times.compute));
        if (members.size() > 1) text += part("reduce", times.reduce) + ", ";
        text += part("wait", times.wait) + "\n";
    }
    return text;
}

nlohmann::json split_json(const device::RunTimes& times) {
    if (times.runs == 0) return nullptr;
    return {{"steps", times.runs},
            {"compute_us", us_per_run(times.compute, times)},
            {"reduce_us", us_per_run(times.reduce, times)},
            {"wait_us", us_per_run(times.wait, times)}};
}

// Per step.
nlohmann::json members_json(const std::vector<MemberTimes>& members) {
    nlohmann::json list = nlohmann::json::array();
    for (const MemberTimes& member : members) {
        list.push_back({{"device", member.device},
                        {"prompt", split_json(member.prompt)},
                        {"generation", split_json(member.generation)}});
    }
    return list;
}

// What every report of a run begins with.
nlohmann::json prepared_json(const engine::Prepared& prepared) {
    return {{"device", prepared.device->describe().name},
            {"context", prepared.options.context},
            {"weights_bytes", prepared.memory.all_weights()},
            {"kv_bytes", prepared.memory.state},
            {"compute_bytes", prepared.memory.compute}};
}

std::string ladder_text(const engine::Prepared& prepared) {
    std::string text;
    for (const ir::Capacity& capacity : prepared.ladder) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", capacity.tokens);
    }
    return text;
}

// "211 as rows, 61 as packed8"
std::string layouts_text(const engine::Prepared& prepared) {
    std::map<std::string, int64_t> counts;
    for (const int layout : prepared.layouts) {
        if (layout < 0) continue;  // read by no program
        ++counts[prepared.device->describe().buffer_types[static_cast<size_t>(layout)].layout_id];
    }
    std::string text;
    for (const auto& [name, count] : counts) {
        text += fmt::format("{}{} as {}", text.empty() ? "" : ", ", count, name);
    }
    return text;
}

}  // namespace

std::string details_text(const engine::Prepared& prepared) {
    const models::ModelSummary& model = prepared.model->summary();
    const engine::EngineOptions& options = prepared.options;
    return fmt::format(
        "{}: {} layers, width {}, vocabulary {}\ncache: keys {}, values {}, pages of {} tokens\n"
        "steps compiled for up to {} tokens\nweights: {}",
        model.architecture, model.layers, model.width, model.vocabulary, dtype::info(options.key_type).name,
        dtype::info(options.value_type).name, options.page_tokens, ladder_text(prepared),
        layouts_text(prepared));
}

namespace {

// Nothing where everything went without.
std::string gathered_text(int64_t rows) {
    if (rows == 0) return "";
    return fmt::format(
        "; {} row{} of logits read whole (for --candidates, or the changes of --repeat-last-n, were too few)",
        rows, rows == 1 ? "" : "s");
}

}  // namespace

std::string generation_text(const engine::Generation& generation) {
    std::string text =
        fmt::format("{} tokens ({}) in {:.2f} s: prompt {} tokens at {:.1f} tokens/s",
                    generation.generated_tokens, engine::stop_reason_name(generation.reason),
                    generation.prompt_seconds + generation.generation_seconds, generation.prompt_tokens,
                    rate(generation.prompt_tokens, generation.prompt_seconds));
    if (const int64_t timed = timed_tokens(generation); timed > 0)
        text += fmt::format(", then {:.1f} tokens/s", rate(timed, generation.generation_seconds));
    return text + gathered_text(generation.gathered_rows);
}

std::string generation_json(const engine::Prepared& prepared, const engine::Generation& generation) {
    nlohmann::json document = prepared_json(prepared);
    document.update({
        {"prompt_tokens", generation.prompt_tokens},
        {"generated_tokens", generation.generated_tokens},
        {"gathered_rows", generation.gathered_rows},
        {"stop_reason", engine::stop_reason_name(generation.reason)},
        {"prompt_seconds", generation.prompt_seconds},
        {"generation_seconds", generation.generation_seconds},
        {"prompt_tps", rate(generation.prompt_tokens, generation.prompt_seconds)},
        {"gen_tps", rate(timed_tokens(generation), generation.generation_seconds)},
    });
    return document.dump(2);
}

std::string logits_json(const engine::Prepared& prepared, size_t prompt_tokens,
                        std::span<const int32_t> greedy) {
    nlohmann::json document = prepared_json(prepared);
    document.update(
        {{"prompt_tokens", prompt_tokens}, {"greedy", std::vector<int32_t>(greedy.begin(), greedy.end())}});
    return document.dump(2);
}

std::string bench_text(const BenchResult& result) {
    std::string text = result.device + "\n";
    if (result.prompt_tps.median > 0) text += rate_text("prompt", result.prompt_tps);
    if (result.generation_tps.median > 0) text += rate_text("generation", result.generation_tps);
    text += split_text("prompt", result.members, &MemberTimes::prompt);
    text += split_text("generation", result.members, &MemberTimes::generation);
    text += products_text(result.products);
    if (result.generation_tps.median > 0) {
        text += fmt::format(
            "reading      {:>9.2f} GB/s of weights while generating, {:.0f} % of the memory's {:.2f} GB/s "
            "({:.2f} before, {:.2f} after)\n",
            gbps(result.read_rate), 100 * result.share_of_ceiling,
            gbps(std::max(result.read_ceiling_before, result.read_ceiling_after)),
            gbps(result.read_ceiling_before), gbps(result.read_ceiling_after));
    }
    text += fmt::format("memory       {:>9.1f} MiB peak, {:.1f} MiB weights\n",
                        mib(static_cast<int64_t>(result.peak_rss_bytes)), mib(result.weights_bytes));
    if (!result.greedy_checksum.empty()) text += fmt::format("greedy ids   {}\n", result.greedy_checksum);
    return text;
}

std::string bench_json(const BenchResult& result) {
    const nlohmann::json document = {
        {"prompt_tps", result.prompt_tps.median},
        {"prompt", rate_json(result.prompt_tps)},
        {"gen_tps", result.generation_tps.median},
        {"generation", rate_json(result.generation_tps)},
        {"peak_rss_bytes", result.peak_rss_bytes},
        {"weights_bytes", result.weights_bytes},
        {"weight_bytes_per_token", result.weight_bytes_per_token},
        {"read_bytes_per_second", result.read_rate},
        {"ceiling_before_bytes_per_second", result.read_ceiling_before},
        {"ceiling_after_bytes_per_second", result.read_ceiling_after},
        {"share_of_ceiling", result.share_of_ceiling},
        {"products", products_json(result.products)},
        {"members", members_json(result.members)},
        {"gathered_rows", result.gathered_rows},
        {"greedy_checksum", result.greedy_checksum},
        {"device", result.device},
    };
    return document.dump(2);
}

std::string devices_text(const DevicesReport& report) {
    std::string text;
    for (const device::DeviceDescription& device : report.devices) {
        const std::string cores = device.cores.empty() ? "" : fmt::format(", cores {}", device.cores);
        const std::string node = device.node < 0 ? "" : fmt::format(" of NUMA node {}", device.node);
        text += fmt::format("{:<6} {}{}, {:.1f} MiB{} free\n", device.name, device.details, cores,
                            mib(device.memory_bytes), node);
    }
    text += fmt::format("instruction sets: {} (best kernels: {})\n", report.features, report.best_simd);
    text += fmt::format("memory: read {:.1f} GB/s, copy {:.1f} GB/s, reduce {:.1f} GB/s\n",
                        gbps(report.speeds.read), gbps(report.speeds.copy), gbps(report.speeds.reduce));
    if (report.sums) {
        text += fmt::format(
            "sums over {} members, 2048 wide: 2 rows in {:.1f} us (meeting alone {:.1f} us), 512 rows at "
            "{:.1f} GB/s of terms read and results written, as far as the caches hold them\n",
            report.sums->members, 1e6 * report.sums->few_rows, 1e6 * report.sums->barrier,
            gbps(report.sums->rate));
    }
    return text;
}

std::string devices_json(const DevicesReport& report) {
    nlohmann::json devices = nlohmann::json::array();
    for (const device::DeviceDescription& device : report.devices) {
        devices.push_back({{"device", device.name},
                           {"kind", device.kind},
                           {"details", device.details},
                           {"memory", device.memory},
                           {"memory_bytes", device.memory_bytes},
                           {"threads", device.workers}});
        if (!device.cores.empty()) devices.back()["cores"] = device.cores;
        if (device.node >= 0) devices.back()["node"] = device.node;
    }
    nlohmann::json document = {{"devices", devices},
                               {"simd", report.best_simd},
                               {"features", report.features},
                               {"read_bytes_per_second", report.speeds.read},
                               {"copy_bytes_per_second", report.speeds.copy},
                               {"reduce_bytes_per_second", report.speeds.reduce}};
    if (report.sums) {
        document["member_sums"] = {{"members", report.sums->members},
                                   {"meeting_seconds", report.sums->barrier},
                                   {"two_rows_seconds", report.sums->few_rows},
                                   {"many_rows_bytes_per_second", report.sums->rate}};
    }
    return document.dump(2);
}

}  // namespace plait::tools
