#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plait/gguf/file.h"

namespace plait::tools {

// What Plait would make of a file: the part of `inspect` that needs the architecture.
struct ModelUse {
    std::string refusal;  // why Plait cannot run the file; empty if it can
    std::string architecture;
    int64_t layers = 0;
    int64_t width = 0;
    int64_t vocabulary = 0;
    int64_t trained_context = 0;

    struct RoleTotal {
        int64_t tensors = 0;
        int64_t bytes = 0;
    };
    std::map<std::string, RoleTotal> roles;      // by role name
    std::map<std::string, std::string> role_of;  // tensor -> role
    struct Group {
        std::string name;
        int64_t tensors = 0;
        int64_t bytes_per_token = 0;  // with an F16 cache
        int64_t window = 0;           // tokens it keeps; 0: all
    };
    std::vector<Group> state_groups;
};

// Reads metadata and the tensor list only. Never throws because of the file: that is what `refusal` is for.
ModelUse model_use(const gguf::File& file);

std::string model_use_text(const ModelUse& use, bool tensors);
// An object for the key "plait" of inspect's JSON.
std::string model_use_json(const ModelUse& use, bool tensors);

}  // namespace plait::tools
