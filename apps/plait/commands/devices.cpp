#include "plait/engine/devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "../commands.h"
#include "../session.h"
#include "plait/backends/cpu/simd/select.h"
#include "plait/base/cpu_probe.h"
#include "plait/tools/reports.h"
#include "plait/tools/support_table.h"

namespace plait::app {

void devices(const DevicesCommand& command) {
    tools::DevicesReport report;
    Cores cores;
    engine::EngineOptions options;
    options.devices = command.devices.empty() ? "cpu,sim" : command.devices;
    const auto made = engine::make_device(options, cores);
    for (int i = 0; i < made->describe().member_count(); ++i)
        report.devices.push_back(made->describe().member(static_cast<size_t>(i)));
    if (command.support) {
        for (const device::DeviceDescription& device : report.devices)
            write_stdout(fmt::format("{}:\n\n{}\n", device.name, tools::support_table(device)));
        return;
    }
    report.speeds = tools::measure_memory(cores, cores.usable());
    const auto has_cores = [](const device::DeviceDescription& device) { return device.kind == "cpu"; };
    if (report.devices.size() > 1 && std::ranges::all_of(report.devices, has_cores))
        report.sums = tools::measure_sums(cores, static_cast<int>(report.devices.size()));
    report.features = describe(probe_cpu().features);
    report.best_simd = backends::cpu::simd::name(backends::cpu::simd::best_level());
    write_stdout(command.json ? tools::devices_json(report) + "\n" : tools::devices_text(report));
}

}  // namespace plait::app
