#include <fmt/format.h>

#include "../commands.h"
#include "../parse.h"
#include "../session.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/engine/generate.h"
#include "plait/engine/memory_fit.h"
#include "plait/text/stream_decoder.h"
#include "plait/tools/reports.h"

namespace plait::app {
namespace {

std::string prompt_text(const RunCommand& command) {
    if (command.prompt.has_value() == command.prompt_file.has_value()) {
        throw UsageError("run: expected either a text to continue (-p TEXT) or a file with one (-f FILE)");
    }
    if (command.prompt) return *command.prompt;
    std::string text = read_text_file(*command.prompt_file);
    // As in llama.cpp, the line end that editors leave at the end of a file is no part of the prompt.
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

std::vector<int32_t> encode_prompt(const RunCommand& command, const std::string& text,
                                   const text::Tokenizer& tokenizer) {
    std::vector<int32_t> ids =
        tokenizer.encode(text, {.add_bos = tokenizer.adds_bos(), .parse_special = true});
    if (ids.empty()) throw Error("the prompt has no tokens in this vocabulary; give some text with -p or -f");
    const int64_t most = command.common.truncate_prompt;
    if (most > 0 && static_cast<int64_t>(ids.size()) > most) {
        log_warning(fmt::format("the prompt's {} tokens are cut to the last {}", ids.size(), most));
        ids.erase(ids.begin(), ids.end() - most);
    }
    return ids;
}

}  // namespace

void run(const RunCommand& command) {
    engine::GenerateOptions options{.sampling = chosen_sampling(command.sampling, command.common),
                                    .max_tokens = command.max_tokens,
                                    .keep_cache = command.common.keep_cache};
    const std::string text = prompt_text(command);
    ReportFile report(command.common.report);

    // What can be refused is refused before the weights are read.
    engine::Prepared prepared = prepare_model(command.common, engine_options(command.common));
    engine::require_memory(prepared);
    const text::Tokenizer tokenizer = load_tokenizer(prepared.file, command.common.pre);
    const std::vector<int32_t> prompt = encode_prompt(command, text, tokenizer);
    engine::require_room(static_cast<int64_t>(prompt.size()), 0, prepared.options.context);
    if (!command.ignore_eos) options.end_tokens = tokenizer.end_of_generation();
    if (options.sampling.temperature > 0) log_info(fmt::format("seed {}", options.sampling.seed));

    const auto engine = load_engine(std::move(prepared));
    text::StreamDecoder decoder(tokenizer);
    const InterruptGuard guard(engine->stop());
    const engine::Generation generation =
        engine::generate(*engine, prompt, options, [&](int32_t token) { write_stdout(decoder.push(token)); });
    write_stdout(decoder.finish() + "\n");
    log_info(tools::generation_text(generation));
    if (report.wanted()) report.write(tools::generation_json(engine->prepared(), generation));
}

}  // namespace plait::app
