#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plait/base/cores.h"
#include "plait/device/device.h"
#include "plait/engine/options.h"
#include "plait/gguf/file.h"
#include "plait/load/weights.h"
#include "plait/models/model.h"

namespace plait::engine {

// What a device, or a member of it, would hold, bytes.
struct MemoryNeeds {
    int64_t weights = 0;         // stored on the device
    int64_t mapped_weights = 0;  // used where they lie in the model's file, or in that of the pack cache
    int64_t mirrored = 0;        // of all weights, bytes that another member has too
    int64_t state = 0;
    int64_t compute = 0;  // step inputs, outputs and scratch of all slots

    int64_t total() const { return weights + state + compute; }
    int64_t all_weights() const { return weights + mapped_weights; }
    MemoryNeeds& operator+=(const MemoryNeeds& more);
};

// A model compiled for a device: everything that is known before a weight is read or memory taken. `plait
// plan` prints it, an Engine binds it.
struct Prepared {
    EngineOptions options;  // context, batch and micro-batch resolved
    gguf::File file;
    std::unique_ptr<Cores> cores;
    std::string device_notes;  // of how the device list was understood, for people; mostly empty
    std::unique_ptr<device::Device> device;
    std::unique_ptr<models::Model> model;
    std::string context_note;               // how the context was chosen and what it costs, for people
    std::vector<models::StatePages> pages;  // by state group
    std::vector<ir::Capacity> ladder;
    std::vector<std::unique_ptr<device::Program>> programs;  // by capacity
    device::Placement placement;                             // of weights and state over the device's members
    std::vector<int> layouts;                                // by weight
    load::PackCache pack_cache;                              // has all packed weights, or none
    std::vector<MemoryNeeds> members;                        // by member of the device
    MemoryNeeds memory;                                      // of all
    std::vector<double> shares;                              // of the model, by member; their sum is 1
    std::string shares_note;                                 // how they were chosen, for people
    bool shares_follow_memory = false;                       // others would not fit
    std::vector<double> speeds;  // by member, in one unit; empty where they cannot be compared

    // The state tensors, in graph order.
    std::vector<device::StoredTensor> state_tensors() const;
    std::vector<device::StoredTensor> weight_tensors() const;
    // For load_weights, as long as this object stays where it is.
    load::ModelWeights model_weights() const;
    load::LoadOptions load_options() const;
    // Bytes of a state group's pools.
    int64_t group_bytes(size_t group) const;
    // What one slot must have to serve every program.
    int64_t slot_input_values() const;
    std::vector<device::StoredTensor> slot_outputs() const;
    int64_t slot_scratch_bytes() const;
};

// Throws Error for options that make no sense with any file, naming the flag.
void validate(const EngineOptions& options);

// Throws Error for anything about file, options or device that does not fit together. `cores`: none for those
// of this machine.
Prepared prepare(const EngineOptions& options, std::unique_ptr<Cores> cores = nullptr);

}  // namespace plait::engine
