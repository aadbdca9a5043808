#pragma once

#include <memory>
#include <span>

#include "plait/models/model.h"

namespace plait::models {

// One architecture: the name in general.architecture and how to read a file of it.
struct Architecture {
    const char* name;
    std::unique_ptr<Model> (*load)(const gguf::File& file, const ModelOptions& options);
};

// Every architecture Plait knows, in list.cpp: adding one is one line there.
std::span<const Architecture> architectures();

}  // namespace plait::models
