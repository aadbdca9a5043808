#pragma once

#include <cstdint>

namespace plait::device {

// Through what the members of a device reach each other while their programs run, without the host between.
enum class CommunicatorKind : uint8_t {
    local,  // threads of one process, which reach each other's memory
};

// What members share who meet inside their programs. Whoever makes a device of several owns it; it outlives
// them.
class Communicator {
  public:
    virtual ~Communicator() = default;
    virtual CommunicatorKind kind() const = 0;
    virtual int members() const = 0;
};

}  // namespace plait::device
