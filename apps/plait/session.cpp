#include "session.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "plait/base/atomic_file.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/base/mapped_file.h"
#include "plait/base/progress.h"
#include "plait/text/vocab_from_gguf.h"
#include "plait/tools/reports.h"

namespace plait::app {
namespace {

std::atomic<StopWord*> interrupted{nullptr};

void on_interrupt(int) {
    if (StopWord* stop = interrupted.load()) stop->cancel();
}

void report_hash(const std::string& path) {
    const MappedFile file(path);
    const XXH64_hash_t hash = XXH3_64bits(file.bytes().data(), file.bytes().size());
    log_info(fmt::format("XXH3-64 of {}: {:016x}", path, hash));
}

}  // namespace

engine::EngineOptions engine_options(const CommonFlags& flags) {
    engine::EngineOptions options = flags.engine;
    const auto default_type = options.exact ? dtype::DType::F32 : dtype::DType::F16;
    options.key_type = flags.key_type.value_or(default_type);
    options.value_type = flags.value_type.value_or(default_type);
    if (flags.split.flash_attention == "off") {
        log_warning("-fa off: attention is always the blocked kind here; going on with it");
    }
    return options;
}

std::unique_ptr<engine::Engine> load_engine(const CommonFlags& flags, const engine::EngineOptions& options) {
    if (flags.verify) report_hash(options.model);
    engine::Prepared prepared = engine::prepare(options);
    log_info(tools::start_text(prepared));
    Progress progress("loading weights");
    return std::make_unique<engine::Engine>(std::move(prepared), [&progress](int64_t done, int64_t total) {
        progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
    });
}

text::Tokenizer load_tokenizer(const gguf::File& file, const std::string& pre) {
    text::VocabSpec spec = text::vocab_from_gguf(file);
    if (!pre.empty()) spec.pre = pre;
    return text::Tokenizer(spec);
}

InterruptGuard::InterruptGuard(StopWord& stop) {
    interrupted.store(&stop);
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
    std::signal(SIGINT, SIG_DFL);
    interrupted.store(nullptr);
}

std::string read_stdin() {
    std::string text;
    char buffer[65536];
    while (const size_t read = std::fread(buffer, 1, sizeof(buffer), stdin)) text.append(buffer, read);
    if (std::ferror(stdin)) throw Error("standard input cannot be read");
    return text;
}

std::string read_text_file(const std::string& path) {
    const MappedFile file(path);
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void write_stdout(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        throw Error("standard output cannot be written");
    }
}

void write_text_file(const std::string& path, std::string_view text) {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
}

}  // namespace plait::app
