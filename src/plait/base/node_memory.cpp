#include "plait/base/node_memory.h"

#include <fmt/format.h>

#include <vector>

#include "plait/base/memory_info.h"
#include "plait/base/text_fields.h"

namespace plait {
namespace {

constexpr const char* kNodes = "/sys/devices/system/node";

// Numbers of a list like "0-1,3"; none if it is no such list.
std::vector<int> numbers_of(std::string_view list) {
    std::vector<int> numbers;
    for (const std::string_view part : split(trim(list), ',')) {
        const size_t dash = part.find('-');
        const auto first = parse_number<int>(part.substr(0, dash));
        const auto last = dash == part.npos ? first : parse_number<int>(part.substr(dash + 1));
        if (!first || !last) return {};
        for (int number = *first; number <= *last; ++number) numbers.push_back(number);
    }
    return numbers;
}

// Lines "Node 0 MemFree:  123 kB", summed over what a process can get.
std::optional<uint64_t> obtainable(int node, const ReadSystemFile& read) {
    const auto text = read(fmt::format("{}/node{}/meminfo", kNodes, node));
    if (!text) return std::nullopt;
    std::optional<uint64_t> sum;
    for (const std::string_view line : split(*text, '\n')) {
        const auto fields = words(line);
        if (fields.size() < 4) continue;
        for (const std::string_view label :
             {"MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:"}) {
            if (fields[2] == label) sum = sum.value_or(0) + parse_number<uint64_t>(fields[3]).value_or(0);
        }
    }
    return sum;
}

}  // namespace

std::optional<uint64_t> node_memory_available(int node, const ReadSystemFile& read) {
    const std::optional<uint64_t> here = obtainable(node, read);
    if (!here) return std::nullopt;
    uint64_t all = 0;
    for (const int other : numbers_of(read(fmt::format("{}/has_memory", kNodes)).value_or("")))
        all += obtainable(other, read).value_or(0);
    if (all < *here) return std::nullopt;
    const double part = all == 0 ? 0 : static_cast<double>(*here) / static_cast<double>(all);
    return static_cast<uint64_t>(part * static_cast<double>(memory_info(read).available));
}

}  // namespace plait
