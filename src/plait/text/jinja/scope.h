#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "plait/text/jinja/value.h"

namespace plait::text::jinja {

// The names that a template gave values to, inside those of the blocks around.
class Scope {
  public:
    explicit Scope(std::shared_ptr<Scope> around) : around_(std::move(around)) {}

    void set(std::string_view name, Value value) {
        values_.insert_or_assign(std::string(name), std::move(value));
    }
    // Null: neither here nor around here.
    const Value* find(std::string_view name) const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->around_.get()) {
            const auto at = scope->values_.find(name);
            if (at != scope->values_.end()) return &at->second;
        }
        return nullptr;
    }

  private:
    std::map<std::string, Value, std::less<>> values_;
    const std::shared_ptr<Scope> around_;
};

}  // namespace plait::text::jinja
