#include <fmt/format.h>

#include <random>

#include "../commands.h"
#include "../session.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/engine/generate.h"
#include "plait/text/stream_decoder.h"
#include "plait/tools/reports.h"

namespace plait::app {
namespace {

std::string prompt_text(const RunCommand& command) {
    return command.prompt_file.empty() ? command.prompt : read_text_file(command.prompt_file);
}

std::vector<int32_t> encode_prompt(const RunCommand& command, const text::Tokenizer& tokenizer) {
    std::vector<int32_t> ids =
        tokenizer.encode(prompt_text(command), {.add_bos = tokenizer.adds_bos(), .parse_special = true});
    const int64_t most = command.common.truncate_prompt;
    if (most > 0 && static_cast<int64_t>(ids.size()) > most) {
        log_warning(fmt::format("the prompt's {} tokens are cut to the last {}", ids.size(), most));
        ids.erase(ids.begin(), ids.end() - most);
    }
    return ids;
}

uint64_t seed_of(const CommonFlags& flags) {
    if (flags.seed) return *flags.seed;
    std::random_device random;
    return (static_cast<uint64_t>(random()) << 32) | random();
}

}  // namespace

void run(const RunCommand& command) {
    sample::Params sampling = command.sampling;
    sample::validate(sampling);
    sampling.seed = seed_of(command.common);
    const auto engine = load_engine(command.common, engine_options(command.common));
    const text::Tokenizer tokenizer = load_tokenizer(engine->prepared().file, command.common.pre);
    const std::vector<int32_t> prompt = encode_prompt(command, tokenizer);
    if (sampling.temperature > 0) log_info(fmt::format("seed {}", sampling.seed));

    engine::GenerateOptions options{
        .sampling = sampling, .max_tokens = command.max_tokens, .keep_cache = command.common.keep_cache};
    if (!command.ignore_eos) options.end_tokens = tokenizer.end_of_generation();
    text::StreamDecoder decoder(tokenizer);
    const InterruptGuard guard(engine->stop());
    const engine::Generation generation =
        engine::generate(*engine, prompt, options, [&](int32_t token) { write_stdout(decoder.push(token)); });
    write_stdout(decoder.finish() + "\n");
    log_info(tools::generation_text(generation));
    if (!command.common.report.empty()) {
        write_text_file(command.common.report, tools::generation_json(engine->prepared(), generation));
    }
}

}  // namespace plait::app
