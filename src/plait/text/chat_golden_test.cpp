#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "plait/base/error.h"
#include "plait/text/chat_template.h"
#include "plait/text/jinja/json.h"
#include "plait/text/jinja/test_support.h"

// tests/golden/chat/chats.json: conversations, and what Python's jinja2 makes of them with the templates
// beside it.
namespace plait::text {
namespace {

using Json = nlohmann::ordered_json;

const std::filesystem::path kFolder = std::filesystem::path(PLAIT_SOURCE_DIR) / "tests/golden/chat";

std::string template_text(const Json& golden, const std::string& name) {
    if (golden["templates"].contains(name)) return golden["templates"][name];
    std::ifstream file(kFolder / "templates" / (name + ".jinja"));
    return {std::istreambuf_iterator<char>(file), {}};
}

ChatOptions options_of(const Json& conversation) {
    ChatOptions options{.now = jinja::golden_time()};
    for (const auto& [name, value] : conversation.items()) {
        const jinja::Value given = jinja::parse_json(value.dump());
        if (name == "add_generation_prompt") {
            options.add_generation_prompt = value;
        } else if (name == "tools") {
            options.tools = given;
        } else if (name != "messages") {
            options.variables.emplace_back(name, given);
        }
    }
    return options;
}

struct Outcome {
    std::string text;
    std::string error;
};

Outcome outcome(const ChatTemplate& chat, const Json& conversation) {
    try {
        return {.text = chat.render(jinja::parse_json(conversation["messages"].dump()),
                                    options_of(conversation))};
    } catch (const Error& error) {
        return {.error = error.what()};
    }
}

void expect(const Outcome& found, const Json& c) {
    const std::string title =
        c["template"].get<std::string>() + " with " + c["conversation"].get<std::string>();
    if (c.contains("text")) {
        EXPECT_EQ(found.error, "") << title;
        EXPECT_EQ(found.text, c["text"].get<std::string>()) << title;
    } else if (c.contains("raises")) {
        EXPECT_EQ(found.error, "the template refuses: " + c["raises"].get<std::string>()) << title;
    } else {
        EXPECT_TRUE(found.error.starts_with("template line ")) << title << ": " << found.error << found.text;
    }
}

TEST(ChatGolden, TemplatesInTheStyleOfEveryFamily) {
    std::ifstream file(kFolder / "chats.json");
    const Json golden = Json::parse(file);
    ASSERT_GE(golden["cases"].size(), 700u);
    std::map<std::string, ChatTemplate> chats;
    for (const Json& c : golden["cases"]) {
        const std::string name = c["template"];
        if (!chats.contains(name)) {
            const ChatSource source{
                .templates = {{"", template_text(golden, name)}}, .bos = golden["bos"], .eos = golden["eos"]};
            chats.emplace(name, ChatTemplate(source));
        }
        expect(outcome(chats.at(name), golden["conversations"][c["conversation"].get<std::string>()]), c);
    }
    EXPECT_GE(chats.size(), 35u);
}

}  // namespace
}  // namespace plait::text
