#include "plait/base/binder.h"

#include <mutex>

#include "plait/base/cpu_mask.h"
#include "plait/base/error.h"
#include "plait/base/hwloc_topology.h"

namespace plait {
namespace {

class SystemBinder : public Binder {
  public:
    bool bind_thread(pthread_t thread, int cpu) override { return CpuMask::only(cpu).apply_to(thread); }

    bool bind_memory(void* memory, size_t bytes, int node) override {
        std::lock_guard lock(mutex_);
        try {
            if (topology_ == nullptr) topology_ = load_topology();
        } catch (const Error&) {
            return false;
        }
        const Bitmap nodes(hwloc_bitmap_alloc());
        hwloc_bitmap_only(nodes.get(), static_cast<unsigned>(node));
        // Without HWLOC_MEMBIND_STRICT: a node that is full is no reason to be killed.
        return hwloc_set_area_membind(topology_.get(), memory, bytes, nodes.get(), HWLOC_MEMBIND_BIND,
                                      HWLOC_MEMBIND_BYNODESET) == 0;
    }

  private:
    std::mutex mutex_;  // guards the reading of the topology
    Topology topology_;
};

}  // namespace

std::unique_ptr<Binder> system_binder() { return std::make_unique<SystemBinder>(); }

}  // namespace plait
