#pragma once

#include <memory>

#include "flags.h"
#include "plait/engine/engine.h"
#include "plait/text/tokenizer.h"

// What several commands do at their start.
namespace plait::app {

// The engine's options as the flags mean them: --exact asks for an F32 cache unless the cache's flags were
// used.
engine::EngineOptions engine_options(const CommonFlags& flags);

// A loaded engine; tells what it holds, shows progress, hashes the file when asked.
std::unique_ptr<engine::Engine> load_engine(const CommonFlags& flags, const engine::EngineOptions& options);

text::Tokenizer load_tokenizer(const gguf::File& file, const std::string& pre);

// While it lives, the first Ctrl-C cancels the engine's step; the second ends the process as usual.
class InterruptGuard {
  public:
    explicit InterruptGuard(StopWord& stop);
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// Everything stdin or a file has. Throws Error when it cannot be read.
std::string read_stdin();
std::string read_text_file(const std::string& path);
// Throws Error when stdout cannot be written (a closed pipe, a full disk).
void write_stdout(std::string_view text);
void write_text_file(const std::string& path, std::string_view text);

}  // namespace plait::app
