#include "plait/base/text_fields.h"

namespace plait {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == text.npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> found;
    for (;;) {
        const size_t begin = text.find_first_not_of(kBlank);
        if (begin == text.npos) return found;
        text.remove_prefix(begin);
        found.push_back(text.substr(0, text.find_first_of(kBlank)));
        text.remove_prefix(found.back().size());
    }
}

std::string_view trim(std::string_view text) {
    const size_t begin = text.find_first_not_of(kBlank);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<uint64_t> labelled_number(std::string_view text, std::string_view label) {
    for (std::string_view line : split(text, '\n')) {
        const auto fields = words(line);
        if (fields.size() >= 2 && fields[0] == label) return parse_number<uint64_t>(fields[1]);
    }
    return std::nullopt;
}

}  // namespace plait
