#pragma once

#include <map>
#include <string>

#include "plait/base/cgroup.h"

namespace plait {

// System files of a machine that a test describes.
struct FakeSystemFiles {
    std::map<std::string, std::string> text;

    ReadSystemFile reader() const {
        return [files = text](const std::string& path) -> std::optional<std::string> {
            const auto file = files.find(path);
            if (file == files.end()) return std::nullopt;
            return file->second;
        };
    }
};

}  // namespace plait
