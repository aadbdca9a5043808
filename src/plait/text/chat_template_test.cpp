#include "plait/text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/base/error.h"
#include "plait/gguf/writer.h"
#include "plait/text/jinja/json.h"
#include "plait/text/small_vocabulary.h"

namespace plait::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kChatMl =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

ChatTemplate chat_with(const std::string& standard) {
    return ChatTemplate({.templates = {{"", standard}}, .bos = "<s>", .eos = "</s>"});
}

const jinja::Value kHello = jinja::Value::list({chat_message("user", "Hi")});

std::string error_of(const ChatTemplate& chat, const ChatOptions& options = {}) {
    try {
        return "no error, but: " + chat.render(kHello, options);
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(ChatTemplate, RendersAConversation) {
    const ChatTemplate chat = chat_with(kChatMl);
    EXPECT_EQ(chat.render(kHello), "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_EQ(chat.render(kHello, {.add_generation_prompt = false}), "<|im_start|>user\nHi<|im_end|>\n");
    EXPECT_EQ(chat.render(jinja::Value::list({}), {.add_generation_prompt = false}), "");
}

TEST(ChatTemplate, GivesTheTemplateItsVariables) {
    const ChatTemplate chat =
        chat_with("{{ bos_token }}{{ eos_token }}{{ tools }}{{ documents }}{{ thinking }}");
    EXPECT_EQ(chat.render(kHello), "<s></s>NoneNone");
    EXPECT_EQ(chat.render(kHello, {.tools = jinja::parse_json("[1]"),
                                   .variables = {{"thinking", true}, {"bos_token", "B"}}}),
              "B</s>[1]NoneTrue");
}

TEST(ChatTemplate, TakesTheToolTemplateForTools) {
    const ChatTemplate chat(
        {.templates = {{"", "plain"}, {"tool_use", "with {{ tools|length }} tools"}, {"rag", "{% broken"}}});
    EXPECT_EQ(chat.render(kHello), "plain");
    EXPECT_EQ(chat.render(kHello, {.tools = jinja::parse_json("[{}]")}), "with 1 tools");
    EXPECT_EQ(chat_with("one").render(kHello, {.tools = jinja::parse_json("[{}]")}), "one");
}

TEST(ChatTemplate, SaysWhatIsMissingOrWrong) {
    EXPECT_EQ(error_of(ChatTemplate(ChatSource{})),
              "the model has no chat template; give one with --chat-template FILE");
    EXPECT_EQ(error_of(chat_with("a\n{% fro %}")).substr(0, 81),
              "the chat template cannot be read: template line 2, column 4: unexpected tag 'fro'");
    EXPECT_EQ(error_of(chat_with("{{ raise_exception('No tools, please.') }}")),
              "the template refuses: No tools, please.");
    EXPECT_EQ(error_of(chat_with("{{ messages.x.y }}")),
              "template line 1, column 15: 'list object' has no attribute 'x'");
}

TEST(ChatTemplate, KnowsWhatItWritesBehindAnAnswer) {
    EXPECT_EQ(chat_with(kChatMl).turn_end(), "<|im_end|>\n");
    EXPECT_EQ(chat_with("{% for m in messages %}{{ m.content }}{% endfor %}").turn_end(), "");
    EXPECT_EQ(chat_with("fixed").turn_end(), std::nullopt);
    EXPECT_EQ(chat_with("{{ raise_exception('no') }}").turn_end(), std::nullopt);
    EXPECT_EQ(ChatTemplate(ChatSource{}).turn_end(), std::nullopt);
}

TEST(ChatTemplate, FindsTemplatesInAFile) {
    gguf::Writer writer;
    writer.set("tokenizer.chat_template", std::string_view("standard"));
    writer.set("tokenizer.chat_template.tool_use", std::string_view("tools"));
    writer.set_strings("tokenizer.chat_templates", std::vector<std::string>{"tool_use"});
    std::vector<std::byte> bytes;
    writer.write(
        [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
    const Tokenizer tokenizer(small_vocabulary().spec("gpt-2"));
    const ChatSource source = chat_source(gguf::File::parse(bytes, "x.gguf"), tokenizer);
    EXPECT_THAT(source.templates, ElementsAre(std::pair("", "standard"), std::pair("tool_use", "tools")));
    EXPECT_EQ(source.bos, "<|endoftext|>");
    EXPECT_EQ(source.eos, "<|endoftext|>");
}

TEST(EncodeChat, WritesTheBeginTokenOnce) {
    VocabSpec spec = small_vocabulary().spec("gpt-2");
    spec.add_bos = true;
    const Tokenizer tokenizer(spec);
    const int32_t bos = *tokenizer.ids().bos, start = small_vocabulary().id("<|im_start|>");
    EXPECT_THAT(encode_chat(tokenizer, "<|im_start|>"), ElementsAre(bos, start));
    EXPECT_THAT(encode_chat(tokenizer, "<|endoftext|><|im_start|>"), ElementsAre(bos, start));
    EXPECT_THAT(encode_chat(tokenizer, ""), ElementsAre(bos));
}

TEST(ChatStopTokens, AddTheTemplatesOwn) {
    const Tokenizer tokenizer(small_vocabulary().spec("gpt-2"));
    const std::vector<int32_t>& usual = tokenizer.end_of_generation();
    const auto stops = [&](const char* end) {
        return chat_stop_tokens(
            chat_with(std::string("{% for m in messages %}{{ m.content }}") + end + "{% endfor %}"),
            tokenizer);
    };
    EXPECT_EQ(stops("<|im_end|>\n"), usual) << "is one anyway";
    EXPECT_EQ(stops(""), usual);
    EXPECT_EQ(stops("\n\n### Question:"), usual) << "plain text ends nothing";
    EXPECT_EQ(stops("<fold>"), usual) << "no control token";
    const int32_t own = small_vocabulary().id("<|im_start|>");
    ASSERT_THAT(usual, testing::Not(testing::Contains(own)));
    EXPECT_THAT(stops(" <|im_start|>x"), testing::Contains(own));
    EXPECT_TRUE(std::ranges::is_sorted(stops(" <|im_start|>x")));
    EXPECT_EQ(chat_stop_tokens(ChatTemplate(ChatSource{}), tokenizer), usual);
}

}  // namespace
}  // namespace plait::text
