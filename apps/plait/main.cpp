#include <CLI/CLI.hpp>

#include <exception>
#include <functional>

#include "commands.h"
#include "flags.h"
#include "parse.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/sample/params.h"

namespace plait::app {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

void add_log_flags(CLI::App& app, LogFlags& flags) {
    app.add_flag("-v,--verbose", flags.verbose, "tell more");
    app.add_flag("-q,--quiet", flags.quiet, "tell warnings and errors only");
    app.add_option("--log-file", flags.file, "write the log to this file as well")->type_name("FILE");
}

void add_model(CLI::App& app, std::string& model) {
    app.add_option("-m,--model", model, "model file (GGUF)")->required()->type_name("FILE");
}

// The flags of everything that computes. Values that Plait does not know are wrong usage.
void add_engine_flags(CLI::App& app, CommonFlags& flags) {
    engine::EngineOptions& engine = flags.engine;
    add_model(app, engine.model);
    app.add_option("-c,--ctx-size", engine.context,
                   "context in tokens (default: the smallest of trained, 8192 and what fits in half of the "
                   "free memory; "
                   "0: trained)")
        ->check(CLI::NonNegativeNumber);
    app.add_option("-b,--batch-size", engine.batch, "tokens handed over at once")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--ubatch,--ubatch-size", engine.micro_batch, "-ub N: tokens per step (micro-batch)")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("-t,--threads", engine.threads, "threads (default: usable cores)")
        ->check(CLI::PositiveNumber);
    add_parsed(app, "--cache-type-k", flags.key_type, parse_cache_type,
               "-ctk TYPE: format of cached keys (default: F16)");
    add_parsed(app, "--cache-type-v", flags.value_type, parse_cache_type,
               "-ctv TYPE: format of cached values (default: F16)");
    add_parsed(app, "--devices", engine.devices, parse_devices,
               "what to run on: cpu, cpu:CORES, sim, sim:BYTES");
    add_parsed(app, "--simd", engine.simd, parse_simd,
               "instruction set of the CPU kernels (default: the best)");
    app.add_flag("--exact", engine.exact,
                 "F32 activations, and an F32 cache unless -ctk or -ctv say otherwise");
    app.add_flag("!--no-repack", engine.repack, "keep weights in the file's layout");
    app.add_flag("!--no-mmap", engine.use_mapping, "copy the weights instead of using the file's pages");
    app.add_flag("!--no-kv-cache", flags.keep_cache,
                 "recompute everything for every token (a reference, slow)");
    app.add_option("--seed", flags.seed, "seed of sampling (default: random, and printed)");
    app.add_option("--pre", flags.pre, "pre-tokenizer to use whatever the file names")->type_name("NAME");
    app.add_flag("--verify", flags.verify, "hash the whole model file and report the hash");
    app.add_option("--truncate-prompt", flags.truncate_prompt,
                   "keep only the last N tokens of a longer prompt")
        ->check(CLI::PositiveNumber);
    app.add_option("--report", flags.report, "write metrics to this file as JSON")->type_name("FILE");
}

// Flags about splitting a model. With one device there is nothing to split, so they change nothing; their
// values are checked all the same.
void add_split_flags(CLI::App& app, SplitFlags& flags) {
    const auto one_of = [&](const char* name, std::string& value, std::vector<std::string> values,
                            const char* what) {
        app.add_option(name, value, what)->check(CLI::IsMember(std::move(values)));
    };
    one_of("--split-mode", flags.mode, {"none", "layer", "row", "tensor"},
           "-sm MODE: how to split over several devices");
    one_of("--embd", flags.embedding, {"mirrored", "vocab", "hidden"}, "how to split the embedding");
    one_of("--moe-split", flags.experts, {"inner", "experts"}, "how to split experts");
    one_of("--exchange", flags.exchange, {"f32", "bf16", "q8_0"}, "format of reductions");
    one_of("--reduce", flags.reduce, {"auto", "direct", "pairwise", "butterfly"}, "way of reductions");
    app.add_option("--tensor-split", flags.shares, "-ts A,B,...|auto: shares of the devices")
        ->check(CLI::Validator(check_shares, "SHARES"));
    app.add_option("--main-device", flags.main_device, "device that holds what is not split")
        ->check(CLI::Range(0, 0));
    app.add_option("--candidates", flags.candidates, "candidates per member in merged sampling")
        ->check(CLI::PositiveNumber);
    app.add_flag("--check-members", flags.check_members, "hash mirrored values on every member");
    app.add_flag("--fast", flags.fast, "allow kernels whose bits depend on the batch (there are none)");
    app.add_flag("--no-pack-cache", flags.no_pack_cache,
                 "do not keep packed weights on disk (none are kept)");
    one_of("--flash-attn", flags.flash_attention, {"on", "off", "auto"},
           "-fa on|off|auto: accepted; attention is always the blocked kind");
}

void add_sampling_flags(CLI::App& app, sample::Params& params) {
    app.add_option("--temp", params.temperature, "temperature; 0 takes the best token")
        ->capture_default_str();
    app.add_option("--top-k", params.top_k, "sample from the k best; 0: all")->capture_default_str();
    app.add_option("--top-p", params.top_p, "sample from the best that make up this probability")
        ->capture_default_str();
    app.add_option("--min-p", params.min_p, "least probability, relative to the best")->capture_default_str();
    app.add_option("--repeat-penalty", params.repeat_penalty, "penalty for tokens seen; 1: none")
        ->capture_default_str();
    app.add_option("--repeat-last-n", params.repeat_last_n, "tokens the penalties look back; -1: all")
        ->capture_default_str();
    app.add_option("--presence-penalty", params.presence_penalty, "subtracted once per token seen")
        ->capture_default_str();
    app.add_option("--frequency-penalty", params.frequency_penalty, "subtracted per occurrence")
        ->capture_default_str();
}

// The command line: what each subcommand does is kept until parsing is over.
class CommandLine {
  public:
    CommandLine() {
        app_.require_subcommand(1);
        app_.fallthrough();
        add_log_flags(app_, log_);
        add_run();
        add_logits();
        add_bench();
        add_plan();
        add_inspect();
        add_tokenizers();
        add_devices();
        add_selftest();
        add_synth();
    }

    int main(const std::vector<std::string>& arguments) {
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
        try {
            app_.parse(std::move(reversed));
        } catch (const CLI::ParseError& error) {
            return app_.exit(error) == 0 ? kDone : kWrongUsage;
        }
        set_up_log({.level = log_.verbose ? LogLevel::debug
                             : log_.quiet ? LogLevel::warning
                                          : LogLevel::info,
                    .file = log_.file});
        action_();
        return kDone;
    }

  private:
    CLI::App& add_command(const char* name, const char* what, std::function<void()> action) {
        CLI::App& command = *app_.add_subcommand(name, what);
        command.fallthrough();
        command.callback([this, action = std::move(action)] { action_ = action; });
        return command;
    }

    void add_run() {
        CLI::App& command = add_command("run", "continue a text", [this] { run(run_); });
        add_engine_flags(command, run_.common);
        add_split_flags(command, run_.common.split);
        add_sampling_flags(command, run_.sampling);
        auto* prompt =
            command.add_option("-p,--prompt", run_.prompt, "the text to continue")->type_name("TEXT");
        command.add_option("-f,--file", run_.prompt_file, "file with the text to continue")
            ->type_name("FILE")
            ->excludes(prompt);
        command
            .add_option("-n,--predict", run_.max_tokens, "tokens to generate; -1: until the context is full")
            ->check(CLI::Range(int64_t{-1}, std::numeric_limits<int64_t>::max()))
            ->capture_default_str();
        command.add_flag("--ignore-eos", run_.ignore_eos, "go on behind the end token");
    }

    void add_logits() {
        CLI::App& command =
            add_command("logits", "write the logits of tokens as a NumPy file", [this] { logits(logits_); });
        add_engine_flags(command, logits_.common);
        add_split_flags(command, logits_.common.split);
        command.add_option("--tokens", logits_.tokens, "ids, as 1,2,3")->required()->type_name("IDS");
        command.add_option("--greedy", logits_.greedy, "then feed back the best id N times")
            ->check(CLI::NonNegativeNumber);
        command.add_option("-o,--out", logits_.out, "float32 [rows, vocabulary]")
            ->required()
            ->type_name("OUT.npy");
    }

    void add_bench() {
        CLI::App& command =
            add_command("bench", "measure prompt and generation speed", [this] { bench(bench_); });
        add_engine_flags(command, bench_.common);
        add_split_flags(command, bench_.common.split);
        tools::BenchOptions& options = bench_.bench;
        command.add_option("-p,--n-prompt", options.prompt, "prompt tokens; 0: none")
            ->check(CLI::NonNegativeNumber)
            ->capture_default_str();
        command.add_option("-n,--n-gen", options.generate, "tokens to generate; 0: none")
            ->check(CLI::NonNegativeNumber)
            ->capture_default_str();
        command.add_option("-d,--depth", options.depth, "tokens in the context before")
            ->check(CLI::NonNegativeNumber)
            ->capture_default_str();
        command.add_option("-r,--repetitions", options.repetitions, "times to measure")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        command.add_flag("--json", bench_.json, "print JSON");
    }

    void add_plan() {
        CLI::App& command =
            add_command("plan", "what a run would hold, without reading weights", [this] { plan(plan_); });
        add_engine_flags(command, plan_.common);
        add_split_flags(command, plan_.common.split);
        command.add_option("--budget", plan_.budget, "bytes each member may take, as 2G,512M")
            ->type_name("BYTES,...");
        command.add_flag("--json", plan_.json, "print JSON");
    }

    void add_inspect() {
        CLI::App& command = add_command("inspect", "show a model file", [this] { inspect(inspect_); });
        add_model(command, inspect_.model);
        command.add_flag("--tensors", inspect_.tensors, "list the tensors");
        command.add_flag("--json", inspect_.json, "print JSON");
    }

    void add_tokenizers() {
        CLI::App& encode = add_command("tokenize", "text on stdin to ids", [this] { tokenize(tokenize_); });
        add_model(encode, tokenize_.model);
        encode.add_option("--pre", tokenize_.pre, "pre-tokenizer to use whatever the file names")
            ->type_name("NAME");
        encode.add_flag("!--no-parse-special", tokenize_.parse_special,
                        "take special tokens' text as plain text");
        encode.add_flag("--add-bos", tokenize_.add_bos, "begin with the begin-of-text token");
        CLI::App& decode =
            add_command("detokenize", "ids on stdin to text", [this] { detokenize(tokenize_); });
        add_model(decode, tokenize_.model);
        decode.add_option("--pre", tokenize_.pre, "pre-tokenizer to use whatever the file names")
            ->type_name("NAME");
    }

    void add_devices() {
        CLI::App& command = add_command("devices", "what this machine has", [this] { devices(devices_); });
        command.add_flag("--json", devices_.json, "print JSON");
    }

    void add_selftest() {
        add_command("selftest", "check every kernel this machine can run against the reference",
                    [] { selftest(); });
    }

    void add_synth() {
        CLI::App& command =
            add_command("synth", "write a model with random weights", [this] { synth(synth_); });
        command.add_option("--arch", synth_.arch, "architecture")->required();
        command
            .add_option("--size", synth_.size,
                        "1b, tiny or k=v,...: layers, width, heads, kv_heads, head_dim, ffn, vocab, experts, "
                        "used, ctx")
            ->required();
        command.add_option("--type", synth_.type, "weight format")->required();
        command.add_option("-o,--out", synth_.out, "the file to write")->required()->type_name("FILE.gguf");
        command.add_option("--seed", synth_.seed, "of the weights")->capture_default_str();
    }

    CLI::App app_{"Plait runs GGUF language models."};
    std::function<void()> action_;
    LogFlags log_;
    RunCommand run_;
    LogitsCommand logits_;
    BenchCommand bench_;
    PlanCommand plan_;
    InspectCommand inspect_;
    TokenizeCommand tokenize_;
    DevicesCommand devices_;
    SynthCommand synth_;
};

}  // namespace
}  // namespace plait::app

int main(int argc, char** argv) {
    try {
        plait::app::CommandLine line;
        return line.main(plait::app::rewrite_flags({argv + 1, argv + argc}));
    } catch (const std::exception& error) {
        plait::log_error(error.what());
        return plait::app::kFailed;
    }
}
