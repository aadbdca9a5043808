#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "plait/base/error.h"
#include "plait/dtype/dtype.h"

// Values of flags. A parse function throws Error for what it does not know; on the command line that is wrong
// usage.
namespace plait::app {

dtype::DType parse_cache_type(const std::string& text);
std::string parse_devices(const std::string& text);  // the text itself, checked
std::string parse_simd(const std::string& text);     // the text itself, checked

// "1,2,3" as ids; spaces, line ends and surrounding brackets are skipped.
std::vector<int32_t> parse_ids(const std::string& text);
// "2G,512M" as bytes.
std::vector<int64_t> parse_byte_list(const std::string& text);

// A CLI11 check: empty when the text is "auto" or a list of non-negative numbers, not all zero.
std::string check_shares(std::string& text);

// An option whose text goes through `parse` into `value`.
template <class Value, class T>
CLI::Option* add_parsed(CLI::App& app, const char* name, Value& value, T (*parse)(const std::string&),
                        const char* what) {
    return app.add_option_function<std::string>(
        name,
        [&value, parse, name](const std::string& text) {
            try {
                value = parse(text);
            } catch (const Error& error) {
                throw CLI::ValidationError(name, error.what());
            }
        },
        what);
}

}  // namespace plait::app
