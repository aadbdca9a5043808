#include "plait/text/chat_template.h"

#include <fmt/format.h>

#include <algorithm>

#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/gguf/metadata.h"
#include "plait/text/jinja/unicode.h"
#include "plait/text/turn_ends.h"

namespace plait::text {
namespace {

constexpr std::string_view kKey = "tokenizer.chat_template";
constexpr const char* kToolTemplate = "tool_use";

std::string token_text(const Tokenizer& tokenizer, std::optional<int32_t> id) {
    return id ? std::string(tokenizer.piece(*id)) : std::string();
}

bool is_control(const Tokenizer& tokenizer, int32_t id) {
    return tokenizer.piece(id, {.special = false}).empty();
}

}  // namespace

ChatSource chat_source(const gguf::File& file, const Tokenizer& tokenizer) {
    ChatSource source{.bos = token_text(tokenizer, tokenizer.ids().bos),
                      .eos = token_text(tokenizer, tokenizer.ids().eos)};
    const gguf::Metadata& metadata = file.metadata();
    for (const auto& [key, value] : metadata.entries()) {
        if (!key.starts_with(kKey)) continue;
        std::string_view name = key.substr(kKey.size());
        if (!name.empty() && name[0] != '.') continue;  // tokenizer.chat_templates lists the names
        if (!name.empty()) name.remove_prefix(1);
        source.templates.emplace(name, metadata.get<std::string_view>(key));
    }
    return source;
}

jinja::Value chat_message(std::string_view role, std::string_view content) {
    return jinja::Value(jinja::Dict({{jinja::Value("role"), jinja::Value(role)},  //
                                     {jinja::Value("content"), jinja::Value(content)}}));
}

ChatTemplate::ChatTemplate(const ChatSource& source) : bos_(source.bos), eos_(source.eos) {
    for (const auto& [name, text] : source.templates) {
        Parsed& parsed = templates_[name];
        try {
            parsed.parsed.emplace(text);
        } catch (const Error& error) {
            parsed.fault = error.what();
        }
    }
}

const jinja::Template& ChatTemplate::chosen(const ChatOptions& options) const {
    auto found = templates_.end();
    if (!options.tools.is_none() && !options.tools.is_undefined()) found = templates_.find(kToolTemplate);
    if (found == templates_.end()) found = templates_.find("");
    if (found == templates_.end()) {
        throw Error("the model has no chat template; give one with --chat-template FILE");
    }
    if (!found->second.parsed) {
        throw Error(fmt::format(
            "the chat template cannot be read: {}; another can be given with --chat-template FILE",
            found->second.fault));
    }
    return *found->second.parsed;
}

std::string ChatTemplate::render(const jinja::Value& messages, const ChatOptions& options) const {
    const jinja::Template& chat = chosen(options);
    std::vector<jinja::Dict::Entry> variables = {
        {jinja::Value("messages"), messages},
        {jinja::Value("tools"), options.tools},
        {jinja::Value("documents"), jinja::None()},
        {jinja::Value("add_generation_prompt"), options.add_generation_prompt},
        {jinja::Value("bos_token"), bos_},
        {jinja::Value("eos_token"), eos_}};
    for (const auto& [name, value] : options.variables) variables.emplace_back(jinja::Value(name), value);
    return chat.render(jinja::Dict(std::move(variables)), {.now = options.now});
}

std::optional<std::string> ChatTemplate::turn_end() const {
    // A word that no template writes by itself.
    constexpr std::string_view kAnswer = "plait7answer";
    std::string text;
    try {
        text =
            render(jinja::Value::list({chat_message("user", "question"), chat_message("assistant", kAnswer)}),
                   {.add_generation_prompt = false});
    } catch (const Error&) {
        return std::nullopt;  // whoever renders a real conversation gets it
    }
    const size_t at = text.rfind(kAnswer);
    return at == text.npos ? std::nullopt : std::optional(text.substr(at + kAnswer.size()));
}

std::vector<int32_t> encode_chat(const Tokenizer& tokenizer, std::string_view text) {
    const std::string bos = token_text(tokenizer, tokenizer.ids().bos);
    const bool has_bos = !bos.empty() && text.starts_with(bos);
    return tokenizer.encode(text, {.add_bos = tokenizer.adds_bos() && !has_bos, .parse_special = true});
}

std::vector<int32_t> chat_stop_tokens(const ChatTemplate& chat, const Tokenizer& tokenizer) {
    std::vector<int32_t> stops = tokenizer.end_of_generation();
    const std::string end = chat.turn_end().value_or("");
    const std::vector<int32_t> ids = tokenizer.encode(jinja::strip(end), {.parse_special = true});
    if (ids.empty() || !is_control(tokenizer, ids[0])) return stops;
    // A known turn end that is no stop here is none on purpose (see stop_tokens.h).
    if (is_turn_end(tokenizer.piece(ids[0]))) return stops;
    stops.insert(std::ranges::upper_bound(stops, ids[0]), ids[0]);
    return stops;
}

}  // namespace plait::text
