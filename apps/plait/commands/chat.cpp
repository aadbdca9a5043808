#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "../commands.h"
#include "../message_reader.h"
#include "../session.h"
#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/engine/generate.h"
#include "plait/engine/memory_fit.h"
#include "plait/text/chat_template.h"
#include "plait/text/stream_decoder.h"
#include "plait/tools/reports.h"

namespace plait::app {
namespace {

enum class Action : uint8_t { help, clear, exit };
struct TypedCommand {
    std::string_view name;
    Action action;
    const char* what;
};
constexpr std::array<TypedCommand, 3> kCommands = {{{"/help", Action::help, "show this"},
                                                    {"/clear", Action::clear, "begin a new conversation"},
                                                    {"/exit", Action::exit, "end; so does Ctrl-D"}}};

text::ChatTemplate load_chat_template(const ChatCommand& command, const gguf::File& file,
                                      const text::Tokenizer& tokenizer) {
    text::ChatSource source = text::chat_source(file, tokenizer);
    if (command.template_file) source.templates = {{"", read_text_file(*command.template_file)}};
    return text::ChatTemplate(source);
}

// The messages so far, and the state of the model that has read them.
class Conversation {
  public:
    Conversation(engine::Engine& engine, const text::Tokenizer& tokenizer, const text::ChatTemplate& chat,
                 engine::GenerateOptions options, std::optional<std::string> system)
        : tokenizer_(tokenizer),
          chat_(chat),
          options_(std::move(options)),
          system_(std::move(system)),
          text_(engine, options_.keep_cache) {
        clear();
    }

    void clear() {
        messages_.clear();
        if (system_) messages_.push_back(text::chat_message("system", *system_));
    }

    // Writes the answer to stdout as it is made. Throws Error, the message forgotten, when the template
    // refuses it or it does not fit in the context.
    void answer(const std::string& message) {
        messages_.push_back(text::chat_message("user", message));
        std::vector<int32_t> prompt;
        try {
            prompt = text::encode_chat(tokenizer_, chat_.render(jinja_messages()));
            if (prompt.empty()) throw Error("the chat template makes an empty text of this conversation");
            require_space(prompt.size());
        } catch (const Error&) {
            messages_.pop_back();
            throw;
        }
        messages_.push_back(text::chat_message("assistant", generate(prompt)));
    }

  private:
    text::jinja::Value jinja_messages() const { return text::jinja::Value::list(messages_); }

    void require_space(size_t tokens) const {
        const int64_t context = text_.engine().options().context;
        if (static_cast<int64_t>(tokens) < context) return;
        throw Error(fmt::format(
            "the conversation's {} tokens leave no room for an answer in the context of {}, so this "
            "message is dropped; begin anew with /clear, or ask for a larger context (-c)",
            tokens, context));
    }

    std::string generate(const std::vector<int32_t>& prompt) {
        std::string answer;
        text::StreamDecoder decoder(tokenizer_);
        const auto show = [&](std::string part) {
            write_stdout(part);
            answer += part;
        };
        engine::Generation generation;
        {
            const InterruptGuard guard(text_.engine().stop());
            generation = engine::continue_text(text_, prompt, options_,
                                               [&](int32_t token) { show(decoder.push(token)); });
        }
        text_.engine().stop().reset();  // a Ctrl-C behind the last step is not meant for the next answer
        show(decoder.finish());
        write_stdout("\n");
        tell(generation);
        return answer;
    }

    void tell(const engine::Generation& generation) const {
        log_debug(tools::generation_text(generation));
        if (generation.reason != engine::StopReason::context_full) return;
        log_warning(fmt::format(
            "the context of {} tokens is full, so the answer ends here; begin anew with /clear, or "
            "ask for a larger context (-c)",
            text_.engine().options().context));
    }

    const text::Tokenizer& tokenizer_;
    const text::ChatTemplate& chat_;
    const engine::GenerateOptions options_;
    const std::optional<std::string> system_;
    std::vector<text::jinja::Value> messages_;
    engine::TextRun text_;
};

// What the template says to the system prompt, and whether there is one, is known before the weights are
// read.
void try_template(const text::ChatTemplate& chat, const std::optional<std::string>& system) {
    std::vector<text::jinja::Value> messages;
    if (system) messages.push_back(text::chat_message("system", *system));
    messages.push_back(text::chat_message("user", "?"));
    chat.render(text::jinja::Value::list(std::move(messages)));
}

// False when the conversation is over.
bool act(const TypedCommand& typed, Conversation& conversation) {
    switch (typed.action) {
        case Action::help:
            fmt::print(stderr, "{}\n", chat_help());  // asked for, so also with -q
            return true;
        case Action::clear:
            conversation.clear();
            log_info("a new conversation");
            return true;
        case Action::exit:
            return false;
    }
    return false;
}

// A person is told what is wrong with a message and goes on; a script ends.
void answer(Conversation& conversation, const std::string& message, bool at_terminal) {
    try {
        conversation.answer(message);
    } catch (const OutputClosed&) {
        throw;
    } catch (const Error& error) {
        if (!at_terminal) throw;
        log_error(error.what());
    }
}

void talk(Conversation& conversation) {
    MessageReader reader;
    while (const auto message = reader.next()) {
        if (message->find_first_not_of(" \t\n") == std::string::npos) continue;
        const auto* typed = std::ranges::find(kCommands, std::string_view(*message), &TypedCommand::name);
        if (typed == kCommands.end()) {
            answer(conversation, *message, reader.at_terminal());
        } else if (!act(*typed, conversation)) {
            return;
        }
    }
}

}  // namespace

std::string chat_help() {
    std::string text =
        "Each line is a message; a backslash at its end lets it go on, and what is pasted in one go is one "
        "message. "
        "Ctrl-C stops an answer; at an empty line it ends the conversation.";
    for (const TypedCommand& command : kCommands)
        text += fmt::format("\n  {:<8}{}", command.name, command.what);
    return text;
}

void chat(const ChatCommand& command) {
    engine::GenerateOptions options{.sampling = chosen_sampling(command.sampling, command.common),
                                    .max_tokens = command.max_tokens,
                                    .keep_cache = command.common.keep_cache};
    engine::Prepared prepared = prepare_model(command.common, engine_options(command.common));
    engine::require_memory(prepared);
    const text::Tokenizer tokenizer = load_tokenizer(prepared.file, command.common.pre);
    const text::ChatTemplate chat = load_chat_template(command, prepared.file, tokenizer);
    try_template(chat, command.system);
    options.end_tokens = text::chat_stop_tokens(chat, tokenizer);
    if (options.sampling.temperature > 0) log_info(fmt::format("seed {}", options.sampling.seed));

    const auto engine = load_engine(std::move(prepared));
    Conversation conversation(*engine, tokenizer, chat, std::move(options), command.system);
    talk(conversation);
}

}  // namespace plait::app
