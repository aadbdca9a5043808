#include "flags.h"

#include <algorithm>
#include <array>
#include <utility>

namespace plait::app {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 6> kTwins = {{
    {"-ub", "--ubatch"},
    {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"},
    {"-fa", "--flash-attn"},
    {"-sm", "--split-mode"},
    {"-ts", "--tensor-split"},
}};

}  // namespace

std::vector<std::string> rewrite_flags(const std::vector<std::string>& arguments) {
    std::vector<std::string> rewritten = arguments;
    for (std::string& argument : rewritten) {
        if (argument == "--") break;
        // "-ub=512" is as good as "-ub 512".
        const std::string name = argument.substr(0, argument.find('='));
        const auto twin =
            std::ranges::find(kTwins, name, [](const auto& pair) { return std::string(pair.first); });
        if (twin != kTwins.end()) argument.replace(0, name.size(), twin->second);
    }
    return rewritten;
}

}  // namespace plait::app
