#pragma once

#include <string>
#include <utility>

namespace plait::text::jinja {

// Where something stands in a template, counted from 1; columns count characters.
struct Place {
    int line = 1;
    int column = 1;
};

// What an operation on values cannot do ("cannot add str and int"). It knows no place: whoever evaluates the
// expression adds that and throws Error. Never leaves this room.
class Fault {
  public:
    explicit Fault(std::string message) : message_(std::move(message)) {}
    const std::string& message() const { return message_; }

  private:
    std::string message_;
};

// Throws Error: "template line 3, column 7: cannot add str and int".
[[noreturn]] void fail_at(Place place, const std::string& message);

}  // namespace plait::text::jinja
