#pragma once

#include <stdexcept>
#include <string>

namespace plait {

// The one exception for everything that can go wrong without a bug in Plait: files, flags, requests,
// topologies, devices, peers. The message is one sentence for the person who can act on it: what was
// expected, what was found, where. Caught only by the command line, the request handler, and the worker loop
// that keeps it for the next sync.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace plait
