#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "plait/base/error.h"
#include "plait/dtype/dtype.h"

// Values of flags. A parse function throws Error for what it does not know; on the command line that is wrong
// usage.
namespace plait::app {

// Flags that make no sense, by themselves or together: the exit status is that of wrong usage.
class UsageError : public Error {
  public:
    using Error::Error;
};

// What `work` returns; its Error as a UsageError. For checks of what the flags say.
template <class Work>
auto as_usage(const Work& work) {
    try {
        return work();
    } catch (const Error& error) {
        throw UsageError(error.what());
    }
}

dtype::DType parse_cache_type(const std::string& text);
std::string parse_devices(const std::string& text);             // the text itself, checked
std::string parse_simd(const std::string& text);                // the text itself, checked
std::string parse_pre(const std::string& text);                 // the text itself, checked
std::string parse_shares(const std::string& text);              // the text itself, checked
std::vector<double> share_list(const std::string& text);        // of a checked text that is not "auto"
std::optional<uint64_t> parse_seed(const std::string& text);    // nothing for -1: draw one
std::vector<int64_t> parse_byte_list(const std::string& text);  // "2G,512M" as bytes

// "1,2,3", "1 2 3" or "[1, 2, 3]" as ids, on any number of lines.
std::vector<int32_t> parse_ids(const std::string& text);
// The same, of at least one id.
std::vector<int32_t> parse_some_ids(const std::string& text);

// CLI11 checks of an option's text.
CLI::Validator whole_number(int64_t smallest, int64_t largest = std::numeric_limits<int32_t>::max());
CLI::Validator real_number();
CLI::Validator one_of(std::vector<std::string> values);

// An option whose text goes through `parse` into `value`.
template <class Value, class T>
CLI::Option* add_parsed(CLI::App& app, const std::string& names, Value& value, T (*parse)(const std::string&),
                        const char* what) {
    const std::string shown = names.substr(names.rfind(',') + 1);
    const auto take = [&value, parse, shown](const std::string& text) {
        try {
            value = parse(text);
        } catch (const Error& error) {
            const bool named = std::string(error.what()).starts_with(shown);
            throw UsageError(named ? error.what() : shown + ": " + error.what());
        }
    };
    // The last value counts, but every one is checked.
    return app.add_option_function<std::string>(names, take, what)->each(take);
}

}  // namespace plait::app
