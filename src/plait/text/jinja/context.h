#pragma once

#include <ctime>
#include <memory>
#include <vector>

#include "plait/text/jinja/budget.h"
#include "plait/text/jinja/value.h"

namespace plait::text::jinja {

// What one rendering shares: the budget, the time it calls now, and the objects that may come to hold one
// another.
class Context {
  public:
    Context(Limits limits, std::time_t now) : budget_(limits), now_(now) {}
    ~Context() {
        for (const auto& object : owned_) object->forget();
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    Budget& budget() { return budget_; }
    std::time_t now() const { return now_; }

    // An object whose values may change lives until the end: a circle of such would never go away, and a
    // chain of them must not be taken apart by recursion.
    template <class Thing>
    std::shared_ptr<Thing> own(std::shared_ptr<Thing> object) {
        budget_.make(sizeof(Thing) + 64);
        owned_.push_back(object);
        return object;
    }
    // Unless somebody else holds the object that was last owned, it may go now.
    void disown_last_if_unused(const std::shared_ptr<Object>& object) {
        if (owned_.back() == object && object.use_count() <= 2) owned_.pop_back();
    }

  private:
    Budget budget_;
    std::time_t now_;
    std::vector<std::shared_ptr<Object>> owned_;
};

}  // namespace plait::text::jinja
