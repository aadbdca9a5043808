#include "session.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <system_error>

#include "parse.h"
#include "plait/base/log.h"
#include "plait/base/progress.h"
#include "plait/engine/devices.h"
#include "plait/text/vocab_from_gguf.h"
#include "plait/tools/reports.h"
#include "plait/tools/start.h"

namespace plait::app {
namespace {

std::atomic<StopWord*> interrupted{nullptr};

void on_interrupt(int) {
    if (StopWord* stop = interrupted.load()) stop->cancel();
}

void warn_of_idle_flags(const SplitFlags& split) {
    if (split.flash_attention == "off") {
        log_warning("-fa off: attention is always the blocked kind here; going on with it");
    }
}

engine::SplitOptions split_options(const SplitFlags& flags, int devices) {
    engine::SplitOptions split;
    if (flags.mode == "layer" && devices > 1)
        throw UsageError(
            "-sm layer: layers cannot be dealt to devices yet; tensor, row and none can be asked for");
    if (flags.mode == "none") split.mode = engine::SplitMode::none;
    if (flags.mode == "tensor") split.mode = engine::SplitMode::tensor;
    if (flags.mode == "row") split.mode = engine::SplitMode::row;
    if (!flags.mode.empty() && flags.mode != "none" && devices == 1)
        log_warning(fmt::format("-sm {}: there is one member, so nothing is split", flags.mode));
    if (flags.main_device >= devices)
        throw UsageError(fmt::format("--main-device: expected one of the devices 0 to {}, found {}",
                                     devices - 1, flags.main_device));
    if (flags.exchange != "f32" && devices > 1)
        throw UsageError(
            fmt::format("--exchange {}: terms can only be exchanged as f32 yet", flags.exchange));
    if (flags.exchange != "f32")
        log_warning(
            fmt::format("--exchange {}: there is one member, so nothing is exchanged", flags.exchange));
    split.by_speed = flags.shares == "auto";
    if (!flags.shares.empty() && !split.by_speed) {
        const std::vector<double> shares = share_list(flags.shares);
        if (shares.size() != static_cast<size_t>(devices))
            throw UsageError(fmt::format("-ts: expected a share for each device, {} in all, found {}",
                                         devices, shares.size()));
        if (devices > 1) split.shares = shares;
    }
    split.main_device = flags.main_device;
    split.check_members = flags.check_members;
    if (flags.embedding == "mirrored") split.embedding = plan::EmbeddingSplit::mirrored;
    if (flags.embedding == "vocab") split.embedding = plan::EmbeddingSplit::vocabulary;
    if (flags.embedding == "hidden") split.embedding = plan::EmbeddingSplit::hidden;
    if (flags.experts == "experts") split.experts = plan::ExpertSplit::experts;
    for (const auto way :
         {collectives::Way::direct, collectives::Way::pairwise, collectives::Way::butterfly}) {
        if (flags.reduce == collectives::way_name(way)) split.reduce = way;
    }
    return split;
}

void warn_of_untrained_positions(const engine::Prepared& prepared) {
    const int64_t trained = prepared.model->summary().trained_context;
    if (prepared.options.context <= trained) return;
    log_warning(
        fmt::format("the context of {} tokens is longer than the {} this model was trained for; text beyond "
                    "may be poor",
                    prepared.options.context, trained));
}

uint64_t draw_seed() {
    std::random_device random;
    return (static_cast<uint64_t>(random()) << 32) | random();
}

std::string reason(int error) { return std::generic_category().message(error); }

// More than any context holds; devices that never end, such as /dev/zero, do end here.
constexpr size_t kLongestText = size_t{1} << 30;

std::string read_all(std::FILE* file, const std::string& name) {
    std::string text;
    char buffer[65536];
    while (const size_t read = std::fread(buffer, 1, sizeof(buffer), file)) {
        text.append(buffer, read);
        if (text.size() > kLongestText)
            throw Error(
                fmt::format("cannot read {}: expected a text of at most {} bytes", name, kLongestText));
    }
    if (std::ferror(file) != 0) throw Error(fmt::format("cannot read {}: {}", name, reason(errno)));
    return text;
}

// Where programs of this user keep what they can make again (the XDG base directories); empty where there is
// no such place. Paths there must be absolute to count.
std::filesystem::path cache_home() {
    const auto absolute = [](const char* name) {
        const char* value = std::getenv(name);
        const std::filesystem::path path(value == nullptr ? "" : value);
        return path.is_absolute() ? path : std::filesystem::path();
    };
    if (const auto cache = absolute("XDG_CACHE_HOME"); !cache.empty()) return cache;
    const auto home = absolute("HOME");
    return home.empty() ? home : home / ".cache";
}

load::PackCacheOptions pack_cache_options(const CommonFlags& flags) {
    const std::filesystem::path home = cache_home();
    if (flags.split.no_pack_cache || home.empty()) return {};
    return {.folder = (home / "plait" / "packed").string(), .verify = flags.verify};
}

}  // namespace

engine::EngineOptions engine_options(const CommonFlags& flags) {
    engine::EngineOptions options = flags.engine;
    const auto default_type = options.exact ? dtype::DType::F32 : dtype::DType::F16;
    options.key_type = flags.key_type.value_or(default_type);
    options.value_type = flags.value_type.value_or(default_type);
    const int devices = options.described.empty() ? engine::check_devices(options.devices)
                                                  : static_cast<int>(options.described.size());
    options.split = split_options(flags.split, devices);
    options.pack_cache = pack_cache_options(flags);
    warn_of_idle_flags(flags.split);
    return options;
}

void refuse_overwriting(const std::string& path, const gguf::File& file) {
    for (const gguf::Part& part : file.parts()) {
        std::error_code none;  // a path that does not exist is no model
        if (std::filesystem::equivalent(path, part.source, none))
            throw UsageError(fmt::format("{} is the model itself, which would be overwritten", path));
    }
}

engine::Prepared prepare_model(const CommonFlags& flags, const engine::EngineOptions& options) {
    as_usage([&] { engine::validate(options); });
    engine::Prepared prepared = engine::prepare(options);
    if (!flags.report.empty()) refuse_overwriting(flags.report, prepared.file);
    verify_model(flags);
    tools::tell_start(prepared);
    log_debug(tools::details_text(prepared));
    warn_of_untrained_positions(prepared);
    return prepared;
}

std::unique_ptr<engine::Engine> load_engine(engine::Prepared prepared) {
    const auto start = std::chrono::steady_clock::now();
    Progress progress("loading weights");
    auto engine =
        std::make_unique<engine::Engine>(std::move(prepared), [&progress](int64_t done, int64_t total) {
            progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
        });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    log_debug(fmt::format("loaded in {:.2f} s", seconds.count()));
    return engine;
}

void verify_model(const CommonFlags& flags) {
    if (!flags.verify) return;
    const gguf::File file = gguf::File::open(flags.engine.model);
    for (const gguf::Part& part : file.parts()) {
        const XXH64_hash_t hash = XXH3_64bits(part.bytes.data(), part.bytes.size());
        log_info(fmt::format("XXH3-64 of {}: {:016x}", part.source, hash));
    }
}

sample::Params chosen_sampling(sample::Params sampling, const CommonFlags& flags) {
    as_usage([&] { sample::validate(sampling); });
    sampling.seed = flags.seed ? *flags.seed : draw_seed();
    return sampling;
}

text::Tokenizer load_tokenizer(const gguf::File& file, const std::string& pre) {
    try {
        text::VocabSpec spec = text::vocab_from_gguf(file);
        if (!pre.empty()) text::override_pre_tokenizer(spec, pre);
        return text::Tokenizer(spec);
    } catch (const Error& error) {
        const std::string message = error.what();
        if (message.starts_with(file.source())) throw;
        throw Error(fmt::format("{}: {}", file.source(), message));
    }
}

InterruptGuard::InterruptGuard(StopWord& stop) {
    interrupted.store(&stop);
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &previous_);
}

InterruptGuard::~InterruptGuard() {
    sigaction(SIGINT, &previous_, nullptr);
    interrupted.store(nullptr);
}

ReportFile::ReportFile(const std::string& path) {
    if (!path.empty()) file_.emplace(path);
}

void ReportFile::write(const std::string& json) {
    const std::string text = json + "\n";
    file_->write(std::as_bytes(std::span(text)));
    file_->commit();
}

std::string read_stdin() { return read_all(stdin, "standard input"); }

std::string read_text_file(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (file == nullptr) throw Error(fmt::format("cannot read {}: {}", path, reason(errno)));
    return read_all(file.get(), path);
}

void write_stdout(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
    const int error = errno;
    if (error == EPIPE) throw OutputClosed("nobody reads standard output");
    throw Error(fmt::format("cannot write standard output: {}", reason(error)));
}

}  // namespace plait::app
