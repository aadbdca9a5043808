#include "plait/load/pack_cache.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <system_error>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/load/cache_folder.h"
#include "plait/load/weights.h"

namespace plait::load {
namespace {

double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string file_name(const std::string& key) {
    const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
    return fmt::format("{:016x}{:016x}.packed", hash.high64, hash.low64);
}

PackedFileContents contents_of(const std::string& key, std::span<const std::span<const std::byte>> images) {
    PackedFileContents contents{key, {}};
    for (const auto& image : images) contents.image_bytes.push_back(static_cast<int64_t>(image.size()));
    return contents;
}

}  // namespace

PackCacheWriter::PackCacheWriter(Task task)
    : task_(std::move(task)), file_bytes_(contents_of(task_.key, task_.images).file_bytes()) {
    try {
        thread_ = std::thread([this] { work_in_background(); });
    } catch (const std::system_error& error) {
        log_debug(fmt::format("packed weights are written at the end: {}", error.what()));
    }
}

void PackCacheWriter::finish() {
    handed_over_ = true;
    if (!done_)
        log_info(fmt::format("keeping {:.0f} MiB of packed weights for the next start", mib(file_bytes_)));
    if (thread_.joinable()) thread_.join();
    work(false);
}

void PackCacheWriter::work_in_background() {
    // The system's word for "when nobody else wants the core"; on Linux it is the thread's own.
    constexpr int kLowest = 19;
    (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowest);
    work(true);
}

// The steps are short, so the thread is soon done with the one it is at when it is to leave.
void PackCacheWriter::work(bool in_background) noexcept {
    const auto go_on = [&] { return !(in_background && handed_over_); };
    try {
        while (!done_ && go_on()) {
            if (!file_) {
                done_ = !begin();
            } else if (!file_->step()) {
                end();
                done_ = true;
            }
        }
    } catch (const std::exception& error) {
        log_info(fmt::format("packed weights are not kept: {}", error.what()));
        done_ = true;
    }
    if (done_) file_.reset();
}

bool PackCacheWriter::begin() {
    make_cache_folder(task_.path.parent_path());
    if (!make_room(task_.path, file_bytes_, task_.most_bytes)) {
        log_info(fmt::format("packed weights are not kept: no room for {:.0f} MiB in {}", mib(file_bytes_),
                             task_.path.parent_path().string()));
        return false;
    }
    file_.emplace(task_.path, task_.key, task_.images);
    return true;
}

void PackCacheWriter::end() {
    if (sources_changed()) {
        log_debug("packed weights are not kept: the model's file was changed meanwhile");
        return;
    }
    file_->commit();
    log_debug(
        fmt::format("{:.0f} MiB of packed weights are kept in {}", mib(file_bytes_), task_.path.string()));
}

bool PackCacheWriter::sources_changed() const {
    return std::ranges::any_of(
        task_.sources, [](const auto& source) { return identify_file(source.first) != source.second; });
}

PackCache::PackCache(const PackCacheOptions& options, const ModelWeights& weights) : options_(options) {
    if (options.folder.empty()) return;
    parts_ = packed_parts(weights);
    contents_.key = pack_key(weights, parts_);
    int64_t bytes = 0;
    for (const PackedPart& part : parts_) {
        contents_.image_bytes.push_back(part.image.bytes);
        bytes += part.image.bytes;
    }
    if (contents_.key.empty() || parts_.empty() || bytes < options.least_bytes) return;
    members_ = weights.device.describe().member_count();
    const std::vector<FileIdentity> files = weights.file.identities();
    for (size_t i = 0; i < files.size(); ++i) sources_.emplace_back(weights.file.parts()[i].source, files[i]);
    path_ = std::filesystem::path(options.folder) / file_name(contents_.key);
    look(options.verify);
}

void PackCache::look(bool verify) {
    try {
        file_ = PackedFile::open(path_, contents_);
        if (!file_) return;
        if (verify) file_->verify();
        mark_used(path_);
        log_debug(fmt::format("packed weights come from {}", path_.string()));
    } catch (const Error& error) {
        file_.reset();
        log_info(fmt::format("packing anew, since what was kept cannot be used: {}", error.what()));
    }
}

std::vector<device::Image> PackCache::images(size_t weight) const {
    if (!file_) return {};
    std::vector<device::Image> images;
    const auto parts = std::ranges::equal_range(parts_, weight, {}, &PackedPart::weight);
    for (const PackedPart& part : parts) {
        images.resize(static_cast<size_t>(members_));
        images[static_cast<size_t>(part.member)] = file_->image(static_cast<size_t>(&part - parts_.data()));
    }
    return images;
}

std::unique_ptr<PackCacheWriter> PackCache::keep(const Weights& weights) const {
    if (path_.empty() || file_) return nullptr;
    PackCacheWriter::Task task{.path = path_,
                               .key = contents_.key,
                               .images = {},
                               .most_bytes = options_.most_bytes,
                               .sources = sources_};
    for (const PackedPart& part : parts_) {
        const device::Region& region = weights.regions[part.weight];
        const std::vector<device::Image> images = region.buffer->images(region.tensor);
        ENSURE(images.size() == static_cast<size_t>(members_), "buffers have the images their type tells of");
        task.images.push_back(images[static_cast<size_t>(part.member)]);
    }
    return std::make_unique<PackCacheWriter>(std::move(task));
}

}  // namespace plait::load
