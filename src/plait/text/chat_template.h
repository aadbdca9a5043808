#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/gguf/file.h"
#include "plait/text/jinja/template.h"
#include "plait/text/tokenizer.h"

namespace plait::text {

// What a model file says about its prompts' form.
struct ChatSource {
    std::map<std::string, std::string> templates;  // by name; the usual one has none
    std::string bos;                               // texts of the begin and end token; empty: there is none
    std::string eos;
};

// The keys `tokenizer.chat_template` and `tokenizer.chat_template.NAME`. Throws Error when one is no string.
ChatSource chat_source(const gguf::File& file, const Tokenizer& tokenizer);

// One message as templates want it; parse_json() gives those with tool calls or several parts.
jinja::Value chat_message(std::string_view role, std::string_view content);

struct ChatOptions {
    bool add_generation_prompt = true;  // end where the answer begins
    jinja::Value tools = jinja::None();
    // Further names that the template may know ("enable_thinking"); they go before its usual ones.
    std::vector<std::pair<std::string, jinja::Value>> variables;
    std::time_t now = std::time(nullptr);
};

// Turns a conversation into the text that the model was trained on. A model whose template cannot be read is
// still a model: the fault is kept and thrown by whoever asks for a chat. Thread-safe.
class ChatTemplate {
  public:
    explicit ChatTemplate(const ChatSource& source);

    // Messages: a list of dicts with `role` and `content`. The text is made to be encoded by encode_chat().
    // With tools, a template named "tool_use" is taken if there is one. Throws Error when the model has no
    // template or one that cannot be read, for what the template refuses ("the template refuses: ...", in its
    // own words) and for what goes wrong in it (with its line and column).
    std::string render(const jinja::Value& messages, const ChatOptions& options = {}) const;

    // What the template writes behind an answer, up to the conversation's end; nothing if it cannot be told.
    std::optional<std::string> turn_end() const;

  private:
    struct Parsed {
        std::optional<jinja::Template> parsed;
        std::string fault;  // why there is none
    };
    const jinja::Template& chosen(const ChatOptions& options) const;

    std::map<std::string, Parsed> templates_;
    std::string bos_;
    std::string eos_;
};

// The ids of a rendered conversation: special tokens are taken from the text, and the begin token goes before
// it unless the template has written it. Throws Error like Tokenizer::encode.
std::vector<int32_t> encode_chat(const Tokenizer& tokenizer, std::string_view text);

// Where an answer ends, ascending: where the model's generation does anyway, and at the control token that
// the template writes behind an answer.
std::vector<int32_t> chat_stop_tokens(const ChatTemplate& chat, const Tokenizer& tokenizer);

}  // namespace plait::text
