#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../commands.h"
#include "../parse.h"
#include "../session.h"
#include "plait/gguf/file.h"

namespace plait::app {

void tokenize(const TokenizeCommand& command) {
    const text::Tokenizer tokenizer = load_tokenizer(gguf::File::open(command.model), command.pre);
    const std::vector<int32_t> ids =
        tokenizer.encode(read_stdin(), {.add_bos = command.add_bos, .parse_special = command.parse_special});
    write_stdout(fmt::format("[{}]\n", fmt::join(ids, ",")));
}

void detokenize(const TokenizeCommand& command) {
    const text::Tokenizer tokenizer = load_tokenizer(gguf::File::open(command.model), command.pre);
    write_stdout(tokenizer.decode(parse_ids(read_stdin()), {.special = true}));
}

}  // namespace plait::app
