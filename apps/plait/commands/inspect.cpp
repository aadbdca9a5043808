#include "plait/tools/inspect.h"

#include <nlohmann/json.hpp>

#include "../commands.h"
#include "../session.h"
#include "plait/tools/model_use.h"

namespace plait::app {

void inspect(const InspectCommand& command) {
    const gguf::File file = gguf::File::open(command.model);
    const tools::ModelUse use = tools::model_use(file);
    const tools::InspectOptions options{.tensors = command.tensors};
    if (!command.json) {
        write_stdout(tools::inspect_text(file, options) + tools::model_use_text(use, command.tensors));
        return;
    }
    nlohmann::json document = nlohmann::json::parse(tools::inspect_json(file, options));
    document["plait"] = nlohmann::json::parse(tools::model_use_json(use, command.tensors));
    write_stdout(document.dump(2) + "\n");
}

}  // namespace plait::app
