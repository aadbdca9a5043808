#include "flags.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "parse.h"

namespace plait::app {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 6> kTwins = {{
    {"-ub", "--ubatch-size"},
    {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"},
    {"-fa", "--flash-attn"},
    {"-sm", "--split-mode"},
    {"-ts", "--tensor-split"},
}};

bool takes_text(const std::string& argument) { return argument == "-p" || argument == "--prompt"; }

bool is_short_with_value(const std::string& argument) {
    return argument.size() >= 3 && argument[0] == '-' && argument[2] == '=' &&
           std::isalpha(static_cast<unsigned char>(argument[1])) != 0;
}

// "-ngl" would be read as "-n gl" and complained about in words that name neither.
void refuse_unknown_word(const std::string& name) {
    const bool is_word = name.size() > 2 && name[0] == '-' && std::ranges::all_of(name.substr(1), [](char c) {
                             return std::isalpha(static_cast<unsigned char>(c)) != 0;
                         });
    if (is_word) throw UsageError("the flag " + name + " is not known");
}

// The arguments that one stands for.
void append_rewritten(const std::string& argument, std::vector<std::string>& rewritten) {
    if (is_short_with_value(argument)) {
        rewritten.push_back(argument.substr(0, 2));
        rewritten.push_back(argument.substr(3));
        return;
    }
    const size_t name_end = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, name_end);
    const auto twin = std::ranges::find_if(kTwins, [&](const auto& pair) { return name == pair.first; });
    if (twin == kTwins.end()) refuse_unknown_word(name);
    rewritten.push_back(twin == kTwins.end() ? argument : twin->second + argument.substr(name_end));
}

}  // namespace

std::vector<std::string> rewrite_flags(const std::vector<std::string>& arguments) {
    std::vector<std::string> rewritten;
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--") {
            rewritten.insert(rewritten.end(), arguments.begin() + static_cast<ptrdiff_t>(i), arguments.end());
            break;
        }
        const bool is_text = i > 0 && takes_text(arguments[i - 1]);
        if (is_text)
            rewritten.push_back(arguments[i]);
        else
            append_rewritten(arguments[i], rewritten);
    }
    return rewritten;
}

}  // namespace plait::app
