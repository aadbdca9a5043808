#pragma once

#include <memory>
#include <optional>
#include <string>

namespace plait::app {

// Messages from stdin. At a terminal: with a prompt, line editing and a history (libedit); what is pasted in
// one go is one message, whatever lines it has. Elsewhere each line is a message. A backslash at a line's end
// lets the message go on. For one thread; at most one object at a time.
class MessageReader {
  public:
    MessageReader();
    ~MessageReader();
    MessageReader(const MessageReader&) = delete;
    MessageReader& operator=(const MessageReader&) = delete;

    // Nothing at the end: end of file, Ctrl-D, or Ctrl-C on an empty line. Throws Error when stdin cannot be
    // read.
    std::optional<std::string> next();
    // Whether a person is typing.
    bool at_terminal() const;

  private:
    class Lines;
    class PlainLines;
    class EditedLines;

    std::unique_ptr<Lines> lines_;
};

}  // namespace plait::app
