#include "parse.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include "plait/backends/cpu/simd/select.h"
#include "plait/engine/devices.h"

namespace plait::app {
namespace {

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> parts;
    std::string part;
    std::istringstream stream(text);
    while (std::getline(stream, part, ',')) parts.push_back(part);
    if (text.empty() || text.back() == ',') parts.emplace_back();
    return parts;
}

}  // namespace

dtype::DType parse_cache_type(const std::string& text) {
    const dtype::DTypeInfo* info = dtype::find_name(text);
    if (info != nullptr && info->type != dtype::DType::I32) return info->type;
    std::string known;
    for (const dtype::DTypeInfo& row : dtype::table()) {
        if (row.type != dtype::DType::I32) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    }
    throw Error(fmt::format("cache type \"{}\" is unknown; known are {}", text, known));
}

std::string parse_devices(const std::string& text) {
    engine::check_devices(text);
    return text;
}

std::string parse_simd(const std::string& text) {
    backends::cpu::simd::parse_level(text);
    return text;
}

std::vector<int32_t> parse_ids(const std::string& text) {
    std::vector<int32_t> ids;
    const char* at = text.data();
    const char* end = at + text.size();
    const auto skip = [&](std::string_view skipped) {
        while (at != end && skipped.find(*at) != std::string_view::npos) ++at;
    };
    skip(" \t\r\n[");
    while (at != end) {
        int32_t id = 0;
        const auto [rest, fault] = std::from_chars(at, end, id);
        if (fault != std::errc()) {
            throw Error(fmt::format("expected ids such as 1,2,3, found \"{}\" at character {}",
                                    std::string(at, std::min<size_t>(end - at, 20)), at - text.data() + 1));
        }
        ids.push_back(id);
        at = rest;
        skip(" \t\r\n,]");
    }
    return ids;
}

std::vector<int64_t> parse_byte_list(const std::string& text) {
    std::vector<int64_t> bytes;
    for (const std::string& part : split_list(text)) bytes.push_back(engine::parse_bytes(part));
    return bytes;
}

std::string check_shares(std::string& text) {
    if (text == "auto") return {};
    double sum = 0;
    for (const std::string& part : split_list(text)) {
        size_t used = 0;
        double share = -1;
        try {
            share = std::stod(part, &used);
        } catch (const std::exception&) {
        }
        if (used != part.size() || !std::isfinite(share) || share < 0) {
            return fmt::format("expected auto or shares such as 1,1, found \"{}\"", text);
        }
        sum += share;
    }
    return sum > 0 ? std::string() : std::string("the shares are all zero");
}

}  // namespace plait::app
