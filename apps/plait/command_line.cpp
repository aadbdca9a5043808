#include "command_line.h"

#include <fmt/format.h>

#include <limits>

#include "parse.h"
#include "plait/base/log.h"
#include "plait/base/quote.h"
#include "session.h"

namespace plait::app {
namespace {

void add_log_flags(CLI::App& app, LogFlags& flags) {
    auto* verbose = app.add_flag("-v,--verbose", flags.verbose, "tell more");
    app.add_flag("-q,--quiet", flags.quiet, "tell warnings and errors only")->excludes(verbose);
    app.add_option("--log-file", flags.file, "write the log to this file as well")->type_name("FILE");
}

void add_model(CLI::App& app, std::string& model) {
    app.add_option("-m,--model", model, "model file (GGUF)")->required()->type_name("FILE");
}

CLI::Option* add_number(CLI::App& app, const char* names, int64_t& value, int64_t smallest,
                        const char* what) {
    return app.add_option(names, value, what)->check(whole_number(smallest))->type_name("N");
}

CLI::Option* add_number(CLI::App& app, const char* names, int32_t& value, int64_t smallest,
                        const char* what) {
    return app.add_option(names, value, what)->check(whole_number(smallest))->type_name("N");
}

void add_real(CLI::App& app, const char* name, double& value, const char* what) {
    app.add_option(name, value, what)->check(real_number())->type_name("X")->capture_default_str();
}

void add_choice(CLI::App& app, const char* name, std::string& value, std::vector<std::string> values,
                const char* what) {
    const std::string shown = fmt::format("{}", fmt::join(values, "|"));
    app.add_option(name, value, what)->check(one_of(std::move(values)))->type_name(shown);
}

void add_pre(CLI::App& app, std::string& pre) {
    add_parsed(app, "--pre", pre, parse_pre, "pre-tokenizer to use whatever the file names")
        ->type_name("NAME");
}

void add_size_flags(CLI::App& app, engine::EngineOptions& engine) {
    add_number(
        app, "-c,--ctx-size", engine.context, 0,
        "context in tokens (default: the smallest of trained, 8192 and what fits in half of the free memory; "
        "0: trained)");
    add_number(app, "-b,--batch-size", engine.batch, 1, "tokens handed over at once")->capture_default_str();
    add_number(app, "--ubatch-size", engine.micro_batch, 1, "-ub N: tokens per step (micro-batch)")
        ->capture_default_str();
    add_number(
        app, "--candidates", engine.candidates, 1,
        "candidates for the next token that each device hands over; where filters keep more, its logits are "
        "read")
        ->capture_default_str();
}

void add_device_flags(CLI::App& app, engine::EngineOptions& engine) {
    add_number(app, "-t,--threads", engine.threads, 1, "threads (default: usable cores)");
    add_parsed(app, "--devices", engine.devices, parse_devices,
               "what to run on, several with commas: cpu, cpu:CORES, cpu*N (cores dealt to N members), sim, "
               "sim:BYTES (default: cpu)")
        ->type_name("LIST");
    add_parsed(app, "--simd", engine.simd, parse_simd,
               "instruction set of the CPU kernels (default: the best)")
        ->type_name("LEVEL");
    app.add_flag("!--no-repack", engine.repack, "keep weights in the file's layout");
    app.add_flag("!--no-mmap", engine.use_mapping, "copy the weights instead of using the file's pages");
}

// The flags of everything that computes. Values that Plait does not know are wrong usage.
void add_engine_flags(CLI::App& app, CommonFlags& flags) {
    add_model(app, flags.engine.model);
    add_size_flags(app, flags.engine);
    add_device_flags(app, flags.engine);
    add_parsed(app, "--cache-type-k", flags.key_type, parse_cache_type,
               "-ctk TYPE: format of cached keys (default: F16)")
        ->type_name("TYPE");
    add_parsed(app, "--cache-type-v", flags.value_type, parse_cache_type,
               "-ctv TYPE: format of cached values (default: F16)")
        ->type_name("TYPE");
    app.add_flag("--exact", flags.engine.exact,
                 "F32 activations, and an F32 cache unless -ctk or -ctv say otherwise");
    app.add_flag("!--no-kv-cache", flags.keep_cache,
                 "recompute everything for every token (a reference, slow)");
    add_parsed(app, "-s,--seed", flags.seed, parse_seed,
               "seed of sampling (default, and -1: drawn and printed)")
        ->type_name("N");
    add_pre(app, flags.pre);
    app.add_flag(
        "--verify", flags.verify,
        "hash the whole model file, report the hash, and compare kept packed weights with their own hashes");
    add_number(app, "--truncate-prompt", flags.truncate_prompt, 1,
               "keep only the last N tokens of a longer prompt");
    app.add_option("--report", flags.report, "write metrics to this file as JSON")->type_name("FILE");
}

// Flags about splitting a model; with one device there is nothing to split.
void add_split_flags(CLI::App& app, SplitFlags& flags) {
    add_choice(app, "--split-mode", flags.mode, {"none", "layer", "row", "tensor"},
               "-sm MODE: tensor cuts every layer over all devices (default of several), row cuts "
               "matrices alone (for comparison), none runs on --main-device alone; layer is not there yet");
    add_choice(
        app, "--embd", flags.embedding, {"mirrored", "vocab", "hidden"},
        "token table: whole on every member, cut by ids (default where it is the output matrix too), or "
        "by features");
    add_choice(app, "--moe-split", flags.experts, {"inner", "experts"},
               "every member has a part of each expert, or some experts whole (default: inner)");
    add_choice(app, "--exchange", flags.exchange, {"f32", "bf16", "q8_0"},
               "format in which members exchange terms (f32; the others are not there yet)");
    add_choice(
        app, "--reduce", flags.reduce, {"auto", "direct", "pairwise", "butterfly"},
        "how members add up their terms (default: auto, which is direct where members run together, else "
        "butterfly)");
    add_parsed(
        app, "--tensor-split", flags.shares, parse_shares,
        "-ts A,B,...|auto: shares of the devices; 0 gives nothing, auto measures how fast each is (default: "
        "equal ones, or by free memory where those do not fit)")
        ->type_name("SHARES");
    app.add_option("--main-device", flags.main_device,
                   "device that runs with -sm none, and does all but products with -sm row; counted from 0")
        ->check(whole_number(0, 255))
        ->type_name("N");
    app.add_flag("--check-members", flags.check_members,
                 "compare what members hold alike, bit for bit, after every exchange");
    app.add_flag("--fast", flags.fast, "allow kernels whose bits depend on the batch (there are none)");
    app.add_flag("--no-pack-cache", flags.no_pack_cache,
                 "neither keep packed weights on disk for the next start nor use kept ones");
    add_choice(app, "--flash-attn", flags.flash_attention, {"on", "off", "auto"},
               "-fa on|off|auto: accepted; attention is always the blocked kind");
}

void add_sampling_flags(CLI::App& app, sample::Params& params) {
    constexpr int64_t kAny = std::numeric_limits<int32_t>::min();
    add_real(app, "--temp", params.temperature, "temperature; 0 takes the best token");
    add_number(app, "--top-k", params.top_k, kAny, "sample from the k best; 0: all")->capture_default_str();
    add_real(app, "--top-p", params.top_p, "sample from the best that make up this probability");
    add_real(app, "--min-p", params.min_p, "least probability, relative to the best");
    add_real(app, "--repeat-penalty", params.repeat_penalty, "penalty for tokens seen; 1: none");
    add_number(app, "--repeat-last-n", params.repeat_last_n, -1, "tokens the penalties look back; -1: all")
        ->capture_default_str();
    add_real(app, "--presence-penalty", params.presence_penalty, "subtracted once per token seen");
    add_real(app, "--frequency-penalty", params.frequency_penalty, "subtracted per occurrence");
}

// "unknown argument '--bogus'": CLI11's own words are no sentence.
std::string unexpected_text(const CLI::App& app, const std::vector<std::string>& extras) {
    const bool has_command = !app.get_subcommands().empty();
    return fmt::format("unknown {} {}", has_command ? "argument" : "command", quote(extras.front()));
}

}  // namespace

CommandLine::CommandLine() {
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.set_version_flag("--version", "plait " PLAIT_VERSION);
    // Of a flag given twice the last counts, so that scripts can be given other values.
    app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    add_log_flags(app_, log_);
    add_run();
    add_chat();
    add_logits();
    add_bench();
    add_plan();
    add_inspect();
    add_tokenizers();
    add_devices();
    add_selftest();
    add_synth();
}

bool CommandLine::parse(const std::vector<std::string>& arguments) {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app_.parse(std::move(reversed));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
            write_stdout(answer_text(error));
            return false;
        }
        throw UsageError(fault_text(error));
    }
    set_up_log({.level = log_.verbose ? LogLevel::debug
                         : log_.quiet ? LogLevel::warning
                                      : LogLevel::info,
                .file = log_.file});
    return true;
}

// What --help and --version ask for; CLI11 reports both as errors that are none.
std::string CommandLine::answer_text(const CLI::ParseError& error) const {
    const bool help = error.get_name() == "CallForHelp" || error.get_name() == "CallForAllHelp";
    return help ? app_.help() : fmt::format("{}\n", error.what());
}

std::string CommandLine::help_command() const {
    const auto commands = app_.get_subcommands();
    return commands.empty() ? "plait --help" : fmt::format("plait {} --help", commands.front()->get_name());
}

std::string CommandLine::fault_text(const CLI::ParseError& error) const {
    const std::vector<std::string> extras = app_.remaining(/*recurse=*/true);
    if (!extras.empty()) return unexpected_text(app_, extras);
    if (app_.get_subcommands().empty()) return "a command is missing";
    return error.what();
}

CLI::App& CommandLine::add_command(const char* name, const char* what, std::function<void()> action) {
    CLI::App& command = *app_.add_subcommand(name, what);
    command.fallthrough();
    command.callback([this, action = std::move(action)] { action_ = action; });
    return command;
}

void CommandLine::add_run() {
    CLI::App& command = add_command("run", "continue a text", [this] { run(run_); });
    add_engine_flags(command, run_.common);
    add_split_flags(command, run_.common.split);
    add_sampling_flags(command, run_.sampling);
    command.add_option("-p,--prompt", run_.prompt, "the text to continue")->type_name("TEXT");
    command.add_option("-f,--file", run_.prompt_file, "file with the text to continue")->type_name("FILE");
    add_number(command, "-n,--predict,--n-predict", run_.max_tokens, -1,
               "tokens to generate; -1: until the context is full")
        ->capture_default_str();
    command.add_flag("--ignore-eos", run_.ignore_eos, "go on behind the end token");
}

void CommandLine::add_chat() {
    CLI::App& command = add_command("chat", "talk with a model", [this] { chat(chat_); });
    add_engine_flags(command, chat_.common);
    add_split_flags(command, chat_.common.split);
    add_sampling_flags(command, chat_.sampling);
    command.add_option("--system", chat_.system, "what the model is told before the conversation")
        ->type_name("TEXT");
    command
        .add_option("--chat-template", chat_.template_file,
                    "file with a chat template (Jinja) to use instead of the model's")
        ->type_name("FILE");
    add_number(command, "-n,--predict,--n-predict", chat_.max_tokens, -1,
               "tokens an answer may have; -1: until it ends")
        ->capture_default_str();
    command.footer(chat_help());
}

void CommandLine::add_logits() {
    CLI::App& command =
        add_command("logits", "write the logits of tokens as a NumPy file", [this] { logits(logits_); });
    add_engine_flags(command, logits_.common);
    add_split_flags(command, logits_.common.split);
    add_parsed(command, "--tokens", logits_.tokens, parse_some_ids, "ids, as 1,2,3")
        ->required()
        ->type_name("IDS");
    add_number(command, "--greedy", logits_.greedy, 0, "then feed back the best id N times");
    command.add_option("-o,--out", logits_.out, "float32 [rows, vocabulary]")
        ->required()
        ->type_name("OUT.npy");
}

void CommandLine::add_bench() {
    CLI::App& command =
        add_command("bench", "measure prompt and generation speed", [this] { bench(bench_); });
    add_engine_flags(command, bench_.common);
    add_split_flags(command, bench_.common.split);
    tools::BenchOptions& options = bench_.bench;
    add_number(command, "-p,--n-prompt", options.prompt, 0, "prompt tokens; 0: none")->capture_default_str();
    add_number(command, "-n,--n-gen", options.generate, 0, "tokens to generate; 0: none")
        ->capture_default_str();
    add_number(command, "-d,--depth", options.depth, 0, "tokens in the context before")
        ->capture_default_str();
    add_number(command, "-r,--repetitions", options.repetitions, 1, "times to measure")
        ->capture_default_str();
    command.add_flag("--json", bench_.json, "print JSON");
}

void CommandLine::add_plan() {
    CLI::App& command =
        add_command("plan", "what a run would hold, without reading weights", [this] { plan(plan_); });
    add_engine_flags(command, plan_.common);
    add_split_flags(command, plan_.common.split);
    add_parsed(command, "--budget", plan_.budgets, parse_byte_list, "bytes each member may take, as 2G,512M")
        ->type_name("BYTES,...");
    command
        .add_option(
            "--members", plan_.members,
            "plan for the devices that this JSON file describes instead: [{\"kind\", \"memory_bytes\", "
            "\"name\", \"threads\", \"memory\", \"like\"}]")
        ->type_name("FILE.json")
        ->excludes("--devices");
    command.add_flag("--json", plan_.json, "print JSON");
}

void CommandLine::add_inspect() {
    CLI::App& command = add_command("inspect", "show a model file", [this] { inspect(inspect_); });
    add_model(command, inspect_.model);
    command.add_flag("--tensors", inspect_.tensors, "list the tensors");
    command.add_flag("--json", inspect_.json, "print JSON");
}

void CommandLine::add_tokenizers() {
    CLI::App& encode = add_command("tokenize", "text on stdin to ids", [this] { tokenize(tokenize_); });
    add_model(encode, tokenize_.model);
    add_pre(encode, tokenize_.pre);
    encode.add_flag("!--no-parse-special", tokenize_.parse_special,
                    "take special tokens' text as plain text");
    encode.add_flag("--add-bos", tokenize_.add_bos, "begin with the begin-of-text token");
    CLI::App& decode = add_command("detokenize", "ids on stdin to text", [this] { detokenize(tokenize_); });
    add_model(decode, tokenize_.model);
    add_pre(decode, tokenize_.pre);
}

void CommandLine::add_devices() {
    CLI::App& command = add_command("devices", "what this machine has", [this] { devices(devices_); });
    add_parsed(command, "--devices", devices_.devices, parse_devices, "those to list (default: cpu,sim)")
        ->type_name("LIST");
    command.add_flag("--json", devices_.json, "print JSON");
    command.add_flag("--support", devices_.support, "print which formats their kernels take, as a table")
        ->excludes("--json");
}

void CommandLine::add_selftest() {
    add_command("selftest", "check every kernel this machine can run against the reference",
                [] { selftest(); });
}

void CommandLine::add_synth() {
    CLI::App& command = add_command("synth", "write a model with random weights", [this] { synth(synth_); });
    command.add_option("--arch", synth_.arch, "architecture")->required()->type_name("ARCH");
    command
        .add_option("--size", synth_.size,
                    "1b, tiny or k=v,...: layers, width, heads, kv_heads, head_dim, ffn, vocab, experts, "
                    "used, window, ctx")
        ->required()
        ->type_name("SIZE");
    command.add_option("--type", synth_.type, "weight format")->required()->type_name("TYPE");
    command.add_option("-o,--out", synth_.out, "the file to write")->required()->type_name("FILE.gguf");
    add_parsed(command, "-s,--seed", synth_.seed, parse_seed, "of the weights (default: 0)")->type_name("N");
}

}  // namespace plait::app
