#pragma once

#include <cstddef>

#include "plait/backends/cpu/program.h"

namespace plait::backends::cpu {

// A step before scratch has offsets: until then storage numbers stand in their place.
struct Draft {
    Step step;
    plan::WorkStep work;
    const ir::Node* host_action = nullptr;
    int32_t interval = 0;    // between two barriers
    bool is_joined = false;  // its step has become a part of another draft's
};

bool has(std::span<const int32_t> storages, int32_t storage);
// Whether they have one in common.
bool meet(std::span<const int32_t> a, std::span<const int32_t> b);

// The steps of a program while nodes become steps: who makes what, and where barriers are.
class Drafts {
  public:
    static constexpr size_t kNobody = SIZE_MAX;

    void add(Draft draft);
    // The draft also does this, which must not be in the way of others of its interval or later ones.
    void extend(size_t at, const plan::WorkStep& more);
    // The first becomes a part of the second, which comes later in its interval, and is run in front of it
    // item by item.
    void join(size_t first, size_t second);

    // The latest draft that writes a storage.
    size_t maker_of(int32_t storage) const;
    Draft& operator[](size_t at) { return drafts_[at]; }
    // None is joined to another.
    std::vector<Draft> take();

    // Whether the draft, another one of its interval or a later one reads or writes a storage.
    bool is_used_since(size_t at, int32_t storage) const;

  private:
    void note_makers(size_t at, std::span<const int32_t> written);

    std::vector<Draft> drafts_;
    std::vector<size_t> maker_of_;  // by storage
    plan::Intervals intervals_;
};

}  // namespace plait::backends::cpu
