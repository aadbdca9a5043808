#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/base/binder.h"
#include "plait/base/core_map.h"

namespace plait {

// "0-3,8" of ascending cores: what Cores::parse_list reads.
std::string format_cores(std::span<const int> cpus);

// The cores of one process, dealt to its CPU devices, and the count of workers that live on them. Make one
// per process and pass it on. Reading is free of locks; any thread may call anything.
class Cores {
  public:
    // Without a binder: the system's.
    explicit Cores(CoreMap map = detect_cores(), std::unique_ptr<Binder> binder = nullptr);

    Cores(const Cores&) = delete;
    Cores& operator=(const Cores&) = delete;

    // How many workers can run at the same time: min(cores of the affinity mask, quota rounded up), at
    // least 1.
    int usable() const { return usable_; }

    const std::vector<int>& cpus() const { return map_.cpus; }
    // All of cpus(), in the order in which to use them when not all are.
    const std::vector<int>& filling() const { return map_.filling; }
    const CacheSizes& caches() const { return map_.caches; }
    const std::vector<NumaNode>& nodes() const { return map_.nodes; }

    // Reads a list like "0-3,8" (numbers as the system counts cores). The result keeps the order given.
    // Throws Error naming the offending core or text when the list is malformed, names a core twice, or names
    // one that this process may not use.
    std::vector<int> parse_list(std::string_view list) const;

    // Keeps workers counted for as long as it lives. Movable; a moved-from lease counts nothing.
    class Lease {
      public:
        Lease(Lease&& other) noexcept;
        Lease& operator=(Lease&&) = delete;
        ~Lease();

      private:
        friend class Cores;
        Lease(Cores& cores, int workers, std::vector<int> pins);

        Cores* cores_;
        int workers_;
        std::vector<int> pins_;
    };

    // Announces `workers` >= 1 live workers. If `pins` is not empty, worker k runs on core pins[k %
    // pins.size()] only. WorkerPool takes its own lease; `*this` must outlive the lease.
    Lease lease(int workers, std::span<const int> pins = {});

    // True while every live worker can have a core to itself: no more workers than usable() and no core that
    // two workers are pinned to. Otherwise waiting must sleep at once, because the one waited for may need
    // this core.
    bool spin_allowed() const { return !crowded_.load(std::memory_order_relaxed); }

    // As those of Binder. Containers may refuse: a warning says so once, and things go on unbound.
    void bind_thread(pthread_t thread, int cpu);
    void bind_memory(void* memory, size_t bytes, int node);

    // Workers alive now, over all leases.
    int live_workers() const { return live_.load(std::memory_order_relaxed); }

  private:
    void add(int workers, std::span<const int> pins, int sign);

    const CoreMap map_;
    const int usable_;
    const std::unique_ptr<Binder> binder_;
    std::atomic<bool> told_of_thread_{false};  // that the system refuses to bind one
    std::atomic<bool> told_of_memory_{false};
    std::mutex mutex_;  // guards pinned_ and the writing of the counts
    std::map<int, int> pinned_;
    std::atomic<int> live_{0};
    std::atomic<bool> crowded_{false};
};

}  // namespace plait
