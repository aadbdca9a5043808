#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flags.h"
#include "plait/sample/params.h"
#include "plait/tools/bench.h"
#include "plait/tools/synth.h"

// One struct and one function per command: the struct is what the flags said, the function prints results to
// stdout and throws Error when the command cannot be done, UsageError when its flags do not go together.
namespace plait::app {

struct RunCommand {
    CommonFlags common;
    std::optional<std::string> prompt;       // either this
    std::optional<std::string> prompt_file;  // or this
    int64_t max_tokens = 128;
    sample::Params sampling;
    bool ignore_eos = false;
};
void run(const RunCommand& command);

struct ChatCommand {
    CommonFlags common;
    std::optional<std::string> system;
    std::optional<std::string> template_file;  // instead of the model's own
    int64_t max_tokens = -1;                   // of an answer; -1: until it ends
    sample::Params sampling;
};
void chat(const ChatCommand& command);
// How to type messages and which commands there are among them.
std::string chat_help();

struct LogitsCommand {
    CommonFlags common;
    std::vector<int32_t> tokens;
    int64_t greedy = 0;
    std::string out;
};
void logits(const LogitsCommand& command);

struct BenchCommand {
    CommonFlags common;
    tools::BenchOptions bench;
    bool json = false;
};
void bench(const BenchCommand& command);

struct PlanCommand {
    CommonFlags common;
    std::optional<std::string> members;  // file that describes the devices; none: those of this machine
    std::vector<int64_t> budgets;        // bytes by member; empty: none given
    bool json = false;
};
void plan(const PlanCommand& command);

struct InspectCommand {
    std::string model;
    bool tensors = false;
    bool json = false;
};
void inspect(const InspectCommand& command);

struct TokenizeCommand {
    std::string model;
    std::string pre;
    bool parse_special = true;
    bool add_bos = false;
};
void tokenize(const TokenizeCommand& command);
void detokenize(const TokenizeCommand& command);

struct DevicesCommand {
    std::string devices;  // a list; empty: every kind there is
    bool json = false;
    bool support = false;  // what their kernels take, instead
};
void devices(const DevicesCommand& command);

void selftest();

struct SynthCommand {
    std::string arch;
    std::string size;
    std::string type;
    std::string out;
    std::optional<uint64_t> seed;  // unset: 0
};
void synth(const SynthCommand& command);

}  // namespace plait::app
