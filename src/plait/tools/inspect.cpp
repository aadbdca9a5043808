#include "plait/tools/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "plait/base/quote.h"
#include "plait/dtype/dtype.h"
#include "plait/gguf/ggml_types.h"

namespace plait::tools {
namespace {

using Json = nlohmann::json;

constexpr size_t kShownElements = 8;

struct Total {
    int64_t tensors = 0;
    int64_t parameters = 0;
    uint64_t bytes = 0;
};

using Totals = std::map<uint32_t, Total>;  // by GGUF's number of the type

Totals totals_of(const gguf::File& file) {
    Totals totals;
    for (const gguf::Tensor& tensor : file.tensors()) {
        Total& total = totals[tensor.type_id];
        ++total.tensors;
        total.parameters += tensor.elements();
        total.bytes += tensor.data.size();
    }
    return totals;
}

std::vector<int64_t> tensors_by_part(const gguf::File& file) {
    std::vector<int64_t> counts(file.parts().size());
    for (const gguf::Tensor& tensor : file.tensors()) ++counts[tensor.part];
    return counts;
}

int64_t parameters_of(const Totals& totals) {
    int64_t sum = 0;
    for (const auto& [type, total] : totals) sum += total.parameters;
    return sum;
}

// --- values, once for text and JSON: `show(x)` receives a string, bool, integer or floating-point number

template <class Show>
auto visit_scalar(const gguf::Value& value, Show show) {
    if (const auto text = value.as<std::string_view>()) return show(*text);
    if (const auto truth = value.as<bool>()) return show(*truth);
    if (const auto number = value.as<int64_t>()) return show(*number);
    if (const auto number = value.as<uint64_t>()) return show(*number);
    if (value.type() == gguf::ValueType::Float32) return show(*value.as<float>());  // 1e-05, not its double
    return show(*value.as<double>());
}

template <class T, class Show>
bool show_front(const gguf::Value& value, Show show) {
    const auto array = value.array_as<T>();
    if (!array) return false;
    for (size_t i = 0; i < std::min(array->size(), kShownElements); ++i) show((*array)[i]);
    return true;
}

// The first elements of an array.
template <class Show>
void visit_front(const gguf::Value& value, Show show) {
    if (const auto strings = value.strings()) {
        size_t shown = 0;
        for (const std::string_view text : *strings)
            if (shown++ < kShownElements)
                show(text);
            else
                break;
        return;
    }
    show_front<bool>(value, show) || show_front<int64_t>(value, show) || show_front<uint64_t>(value, show) ||
        show_front<double>(value, show);
}

// --- text

std::string text_of(std::string_view text) { return quote(text); }
std::string text_of(bool truth) { return truth ? "true" : "false"; }
template <class Number>
std::string text_of(Number number) {
    return fmt::format("{}", number);
}

std::string text_of(const gguf::Value& value) {
    if (value.type() != gguf::ValueType::Array)
        return visit_scalar(value, [](auto scalar) { return text_of(scalar); });
    std::string list;
    visit_front(value, [&](auto element) { list += (list.empty() ? "" : ", ") + text_of(element); });
    return fmt::format("[{}{}] ({} elements)", list, value.count() > kShownElements ? ", ..." : "",
                       value.count());
}

std::string shape_text(const gguf::Tensor& tensor) {
    return fmt::format("{}", fmt::join(tensor.shape(), " x "));
}

// Bytes are known of types that Plait has a format for.
bool has_format(uint32_t type_id) { return dtype::find_gguf(type_id) != nullptr; }

std::string mib(uint64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

void append_tensors(std::string& out, const gguf::File& file) {
    out += "\ntensors (innermost dimension last)\n";
    for (const gguf::Tensor& tensor : file.tensors())
        out += fmt::format("  {:<40} {:<5} {:>24}  {:>12} bytes at {}{}\n", quote(tensor.name),
                           gguf::type_name(tensor.type_id), shape_text(tensor),
                           tensor.type ? fmt::to_string(tensor.data.size()) : "?", file.offset_of(tensor),
                           file.parts().size() > 1 ? fmt::format(" of part {}", tensor.part + 1) : "");
}

// Only where there is more than one.
void append_parts(std::string& out, const gguf::File& file) {
    if (file.parts().size() == 1) return;
    const std::vector<int64_t> tensors = tensors_by_part(file);
    out += "\nparts\n";
    for (size_t i = 0; i < file.parts().size(); ++i)
        out += fmt::format("  {:<60} {:>5} tensors {:>14} bytes\n", file.parts()[i].source, tensors[i],
                           file.parts()[i].bytes.size());
}

void append_types(std::string& out, const Totals& totals) {
    out += "\ntypes\n";
    for (const auto& [type_id, total] : totals)
        out += fmt::format("  {:<6} {:>5} tensors {:>14} parameters {:>12}\n", gguf::type_name(type_id),
                           total.tensors, total.parameters,
                           has_format(type_id) ? mib(total.bytes) : "of no format that Plait has");
}

// --- JSON

Json json_of(const gguf::Value& value) {
    Json json = {{"type", value.type_name()}};
    if (value.type() != gguf::ValueType::Array) {
        json["value"] = visit_scalar(value, [](auto scalar) { return Json(scalar); });
        return json;
    }
    json["count"] = value.count();
    json["first"] = Json::array();
    visit_front(value, [&](auto element) { json["first"].push_back(element); });
    return json;
}

Json tensors_json(const gguf::File& file) {
    Json list = Json::array();
    for (const gguf::Tensor& tensor : file.tensors())
        list.push_back({{"name", tensor.name},
                        {"type", gguf::type_name(tensor.type_id)},
                        {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
                        {"part", tensor.part + 1},
                        {"offset", file.offset_of(tensor)},
                        {"bytes", tensor.type ? Json(tensor.data.size()) : Json()}});
    return list;
}

Json parts_json(const gguf::File& file) {
    const std::vector<int64_t> tensors = tensors_by_part(file);
    Json list = Json::array();
    for (size_t i = 0; i < file.parts().size(); ++i) {
        const gguf::Part& part = file.parts()[i];
        list.push_back({{"file", part.source},
                        {"version", part.version},
                        {"alignment", part.alignment},
                        {"data_offset", part.data_offset},
                        {"file_bytes", part.bytes.size()},
                        {"tensor_count", tensors[i]}});
    }
    return list;
}

Json types_json(const Totals& totals) {
    Json types = Json::object();
    for (const auto& [type_id, total] : totals)
        types[gguf::type_name(type_id)] = {{"tensors", total.tensors},
                                           {"parameters", total.parameters},
                                           {"bytes", has_format(type_id) ? Json(total.bytes) : Json()}};
    return types;
}

}  // namespace

std::string inspect_text(const gguf::File& file, const InspectOptions& options) {
    const Totals totals = totals_of(file);
    const gguf::Part& first = file.parts().front();
    std::string out = fmt::format("{}: GGUF version {}, {} bytes, {} tensors, {} parameters, aligned to {}\n",
                                  file.source(), first.version, file.file_bytes(), file.tensors().size(),
                                  parameters_of(totals), first.alignment);
    append_parts(out, file);
    out += "\nmetadata\n";
    for (const auto& [key, value] : file.metadata().entries())
        out += fmt::format("  {:<44} {:<16} {}\n", quote(key), value.type_name(), text_of(value));
    append_types(out, totals);
    if (options.tensors) append_tensors(out, file);
    return out;
}

std::string inspect_json(const gguf::File& file, const InspectOptions& options) {
    const Totals totals = totals_of(file);
    const gguf::Part& first = file.parts().front();
    Json json = {{"file", file.source()},
                 {"version", first.version},
                 {"alignment", first.alignment},
                 {"data_offset", first.data_offset},
                 {"file_bytes", file.file_bytes()},
                 {"tensor_count", file.tensors().size()},
                 {"parameters", parameters_of(totals)},
                 {"parts", parts_json(file)},
                 {"metadata", Json::object()},
                 {"types", types_json(totals)}};
    for (const auto& [key, value] : file.metadata().entries())
        json["metadata"][std::string(key)] = json_of(value);
    if (options.tensors) json["tensors"] = tensors_json(file);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plait::tools
