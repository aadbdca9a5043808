#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "plait/text/jinja/context.h"
#include "plait/text/jinja/value.h"

namespace plait::text::jinja {

// What `loop` is inside a for: index, index0, revindex, revindex0, first, last, length, previtem, nextitem,
// depth, depth0, cycle(...), changed(...).
class Loop : public Object, public std::enable_shared_from_this<Loop> {
  public:
    Loop(std::vector<Value> items, Context& context);

    std::string_view type_name() const override { return "LoopContext"; }
    std::optional<Value> attribute(std::string_view name) const override;
    void forget() override;

    // Goes to the next item; false behind the last.
    bool advance() { return ++at_ < static_cast<int64_t>(items_.size()); }
    const Value& item() const { return items_[static_cast<size_t>(at_)]; }

    Value cycle(const std::vector<Value>& values) const;
    // Whether these are other values than in the call before.
    bool changed(const std::vector<Value>& values);

  private:
    Value neighbour(int64_t at, const char* what) const;

    std::vector<Value> items_;
    std::vector<Value> seen_;
    bool has_seen_ = false;
    Context& context_;
    int64_t at_ = -1;
};

}  // namespace plait::text::jinja
