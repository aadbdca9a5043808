#include "plait/tools/measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "plait/base/memory_info.h"
#include "plait/base/worker_pool.h"

namespace plait::tools {
namespace {

// Twice the last-level cache, so that memory answers and not the cache; at most an eighth of what is free.
size_t buffer_bytes(const Cores& cores) {
    constexpr uint64_t kLeast = uint64_t{256} << 20;
    const uint64_t wanted = std::max(kLeast, 2 * cores.caches().l3);
    return std::min(wanted, std::max(kLeast, memory_info().available / 8)) / 64 * 64;
}

constexpr int kPasses = 5;
constexpr int kStreams = 4;

// One worker's share of [0, count).
struct Share {
    size_t begin;
    size_t end;
};

Share share_of(size_t count, int worker, int workers) {
    const auto w = static_cast<size_t>(worker), n = static_cast<size_t>(workers);
    return {count * w / n, count * (w + 1) / n};
}

class Measurement {
  public:
    Measurement(Cores& cores, int threads)
        : pool_(cores, threads), values_(buffer_bytes(cores) / sizeof(uint64_t), 1) {}

    double read() {
        return best_rate(bytes(), [this](int worker) { read_share(share(values_.size(), worker)); });
    }

    double copy() {
        const size_t half = values_.size() / 2;
        return best_rate(bytes(), [this, half](int worker) {
            const Share part = share(half, worker);
            std::memcpy(values_.data() + half + part.begin, values_.data() + part.begin,
                        (part.end - part.begin) * sizeof(uint64_t));
        });
    }

    double reduce() {
        const size_t third = floats_count() / 3;
        return best_rate(third * 3 * sizeof(float), [this, third](int worker) {
            const Share part = share(third, worker);
            auto* a = reinterpret_cast<float*>(values_.data());
            const float* b = a + third;
            float* out = a + 2 * third;
            for (size_t i = part.begin; i < part.end; ++i) out[i] = a[i] + b[i];
        });
    }

  private:
    size_t bytes() const { return values_.size() * sizeof(uint64_t); }
    size_t floats_count() const { return bytes() / sizeof(float); }

    Share share(size_t count, int worker) const { return share_of(count, worker, pool_.workers()); }

    // Several streams at once, as one alone does not saturate the memory.
    void read_share(Share part) {
        const size_t stream = (part.end - part.begin) / kStreams;
        std::array<uint64_t, kStreams> sums{};
        const uint64_t* begin = values_.data() + part.begin;
        for (size_t i = 0; i + 8 <= stream; i += 8) {
            for (size_t s = 0; s < kStreams; ++s) {
                const uint64_t* at = begin + s * stream + i;
                sums[s] += at[0] + at[1] + at[2] + at[3] + at[4] + at[5] + at[6] + at[7];
            }
        }
        checksum_.fetch_add(sums[0] + sums[1] + sums[2] + sums[3], std::memory_order_relaxed);
    }

    double best_rate(size_t bytes, const std::function<void(int)>& work) {
        double best = 0;
        for (int pass = 0; pass < kPasses; ++pass) {
            const auto start = std::chrono::steady_clock::now();
            pool_.start([](void* context,
                           int worker) { (*static_cast<const std::function<void(int)>*>(context))(worker); },
                        const_cast<std::function<void(int)>*>(&work));
            pool_.finish();
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
            best = std::max(best, static_cast<double>(bytes) / seconds.count());
        }
        return best;
    }

    WorkerPool pool_;
    std::vector<uint64_t> values_;
    std::atomic<uint64_t> checksum_{0};  // keeps the reads
};

}  // namespace

MemorySpeeds measure_memory(Cores& cores, int threads) {
    Measurement measurement(cores, threads);
    return {measurement.read(), measurement.copy(), measurement.reduce()};
}

double measure_read(Cores& cores, int threads) { return Measurement(cores, threads).read(); }

}  // namespace plait::tools
