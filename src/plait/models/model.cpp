#include "plait/models/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/models/hyperparameters.h"
#include "plait/models/list.h"

namespace plait::models {
namespace {

std::string known_names() {
    std::string names;
    for (const Architecture& architecture : architectures())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", architecture.name);
    return names;
}

const Architecture& architecture_of(const gguf::File& file) {
    constexpr const char* kKey = "general.architecture";
    const auto name = file.metadata().get<std::string_view>(kKey);
    const auto found = std::ranges::find(architectures(), name, &Architecture::name);
    if (found != architectures().end()) return *found;
    throw Error(fmt::format("{}: metadata key '{}': expected one of {}, found {}", file.source(), kKey,
                            known_names(), quote(name)));
}

}  // namespace

std::unique_ptr<Model> load_model(const gguf::File& file, const ModelOptions& options) {
    ENSURE(options.context > 0, "the context is chosen before the model is loaded");
    return architecture_of(file).load(file, options);
}

int64_t trained_context(const gguf::File& file) {
    return KeyReader(file, architecture_of(file).name).count("context_length");
}

}  // namespace plait::models
