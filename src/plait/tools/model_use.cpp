#include "plait/tools/model_use.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "plait/base/error.h"
#include "plait/models/model.h"

namespace plait::tools {
namespace {

void describe_model(const models::Model& model, ModelUse& use) {
    const models::ModelSummary& summary = model.summary();
    use.architecture = summary.architecture;
    use.layers = summary.layers;
    use.width = summary.width;
    use.vocabulary = summary.vocabulary;
    use.trained_context = summary.trained_context;
    for (const ir::WeightSpec& weight : model.weights()) {
        const std::string role = ir::role_name(weight.role());
        ModelUse::RoleTotal& total = use.roles[role];
        ++total.tensors;
        total.bytes += weight.desc.bytes();
        use.role_of[weight.name] = role;
    }
    for (const ir::StateGroupSpec& group : model.state_groups()) {
        use.state_groups.push_back(
            {group.name, static_cast<int64_t>(group.tensors.size()), group.bytes_per_token(), group.window});
    }
}

}  // namespace

ModelUse model_use(const gguf::File& file) {
    ModelUse use;
    try {
        const auto model = models::load_model(file, {.context = models::trained_context(file)});
        describe_model(*model, use);
    } catch (const Error& error) {
        use.refusal = error.what();
    }
    return use;
}

std::string model_use_text(const ModelUse& use, bool tensors) {
    if (!use.refusal.empty()) return fmt::format("Plait cannot run this file: {}\n", use.refusal);
    std::string text =
        fmt::format("Plait runs it as {}: {} layers, width {}, vocabulary {}, trained context {}\n",
                    use.architecture, use.layers, use.width, use.vocabulary, use.trained_context);
    for (const auto& [role, total] : use.roles) {
        text += fmt::format("  {:<24} {:>5} tensors {:>14} bytes\n", role, total.tensors, total.bytes);
    }
    for (const ModelUse::Group& group : use.state_groups) {
        const std::string window = group.window == 0 ? "" : fmt::format(", window {}", group.window);
        text += fmt::format("  state group {}: {} tensors, {} bytes per token in F16{}\n", group.name,
                            group.tensors, group.bytes_per_token, window);
    }
    if (!tensors) return text;
    for (const auto& [tensor, role] : use.role_of) text += fmt::format("  {:<40} {}\n", tensor, role);
    return text;
}

std::string model_use_json(const ModelUse& use, bool tensors) {
    if (!use.refusal.empty()) {
        return nlohmann::json{{"refusal", use.refusal}}.dump(-1, ' ', false,
                                                             nlohmann::json::error_handler_t::replace);
    }
    nlohmann::json roles = nlohmann::json::object();
    for (const auto& [role, total] : use.roles)
        roles[role] = {{"tensors", total.tensors}, {"bytes", total.bytes}};
    nlohmann::json groups = nlohmann::json::array();
    for (const ModelUse::Group& group : use.state_groups) {
        groups.push_back({{"name", group.name},
                          {"tensors", group.tensors},
                          {"bytes_per_token_f16", group.bytes_per_token},
                          {"window", group.window}});
    }
    nlohmann::json document = {{"architecture", use.architecture},
                               {"layers", use.layers},
                               {"width", use.width},
                               {"vocabulary", use.vocabulary},
                               {"trained_context", use.trained_context},
                               {"roles", roles},
                               {"state_groups", groups}};
    if (tensors) document["role_of"] = use.role_of;
    return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace plait::tools
