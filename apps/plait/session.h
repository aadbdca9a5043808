#pragma once

#include <csignal>
#include <memory>
#include <optional>

#include "flags.h"
#include "plait/base/atomic_file.h"
#include "plait/base/error.h"
#include "plait/engine/engine.h"
#include "plait/sample/params.h"
#include "plait/text/tokenizer.h"

// What several commands do at their start.
namespace plait::app {

// The engine's options as the flags mean them: --exact asks for an F32 cache unless the cache's flags were
// used. Warns of flags that change nothing.
engine::EngineOptions engine_options(const CommonFlags& flags);

// Reads the model's header and compiles it; tells what the run will hold; hashes the file when asked.
// Throws UsageError when an output path names the model, or a part of it.
void refuse_overwriting(const std::string& path, const gguf::File& file);
engine::Prepared prepare_model(const CommonFlags& flags, const engine::EngineOptions& options);
// Reads the weights, with progress.
std::unique_ptr<engine::Engine> load_engine(engine::Prepared prepared);
// Hashes the whole model file and reports the hash, if --verify asks for it.
void verify_model(const CommonFlags& flags);

// The sampling flags, checked, with the seed that --seed gives or a drawn one. Throws UsageError.
sample::Params chosen_sampling(sample::Params sampling, const CommonFlags& flags);

text::Tokenizer load_tokenizer(const gguf::File& file, const std::string& pre);

// While it lives, the first Ctrl-C cancels the engine's step; the second ends the process.
class InterruptGuard {
  public:
    explicit InterruptGuard(StopWord& stop);
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

  private:
    struct sigaction previous_ = {};
};

// The file that --report names, if any. Made before the work, so that a path that cannot be written is known
// then.
class ReportFile {
  public:
    explicit ReportFile(const std::string& path);
    bool wanted() const { return file_.has_value(); }
    void write(const std::string& json);

  private:
    std::optional<AtomicFile> file_;
};

// Whoever read stdout is gone (`plait run .. | head`). It ends the command; there is nobody to tell.
class OutputClosed : public Error {
  public:
    using Error::Error;
};

// Everything stdin or a file has. Throws Error when it cannot be read.
std::string read_stdin();
std::string read_text_file(const std::string& path);
// Throws OutputClosed, or Error when stdout cannot be written (a full disk).
void write_stdout(std::string_view text);

}  // namespace plait::app
