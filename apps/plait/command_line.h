#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

#include "commands.h"
#include "flags.h"

namespace plait::app {

// Which flags each command has. Used once, by main.
class CommandLine {
  public:
    CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    // Reads the arguments (see rewrite_flags) and sets up the log. False when they asked for help, which is
    // then printed. Throws UsageError, and Error when the log file cannot be written.
    bool parse(const std::vector<std::string>& arguments);
    // Does what the command that was parsed does.
    void act() const { action_(); }
    // Where the flags of that command are explained.
    std::string help_command() const;

  private:
    CLI::App& add_command(const char* name, const char* what, std::function<void()> action);
    void add_run();
    void add_chat();
    void add_logits();
    void add_bench();
    void add_plan();
    void add_inspect();
    void add_tokenizers();
    void add_devices();
    void add_selftest();
    void add_synth();
    std::string fault_text(const CLI::ParseError& error) const;
    std::string answer_text(const CLI::ParseError& error) const;

    CLI::App app_{"Plait runs GGUF language models.", "plait"};
    std::function<void()> action_;
    LogFlags log_;
    RunCommand run_;
    ChatCommand chat_;
    LogitsCommand logits_;
    BenchCommand bench_;
    PlanCommand plan_;
    InspectCommand inspect_;
    TokenizeCommand tokenize_;
    DevicesCommand devices_;
    SynthCommand synth_;
};

}  // namespace plait::app
