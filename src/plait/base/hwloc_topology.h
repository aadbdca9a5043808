#pragma once

#include <hwloc.h>

#include <memory>

// For the .cpp files of this room that talk to hwloc.
namespace plait {

struct TopologyDeleter {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
    void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

// This machine or, with a description, an imagined one ("numa:2 core:4 pu:2", as hwloc's synthetic backend
// has it), without its devices. Throws Error when hwloc cannot read it.
Topology load_topology(const char* synthetic = nullptr);

}  // namespace plait
