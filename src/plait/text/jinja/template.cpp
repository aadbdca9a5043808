#include "plait/text/jinja/template.h"

#include "plait/text/jinja/interpreter.h"
#include "plait/text/jinja/parser.h"

namespace plait::text::jinja {

struct Template::Tree {
    Block block;
};

Template::Template(std::string_view source) : tree_(std::make_shared<const Tree>(Tree{parse(source)})) {}

std::string Template::render(const Dict& variables, const RenderOptions& options) const {
    Context context(options.limits, options.now);
    return Interpreter(tree_->block, variables, context).run();
}

}  // namespace plait::text::jinja
