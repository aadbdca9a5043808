#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "plait/base/error.h"
#include "plait/text/jinja/json.h"
#include "plait/text/jinja/template.h"
#include "plait/text/jinja/test_support.h"

// tests/golden/chat/language.json: small templates and what Python's jinja2 makes of them.
namespace plait::text::jinja {
namespace {

TEST(Language, MatchesJinja2) {
    std::ifstream file(std::string(PLAIT_SOURCE_DIR) + "/tests/golden/chat/language.json");
    const auto json = nlohmann::ordered_json::parse(file);
    const Value variables = parse_json(json["variables"].dump());
    ASSERT_GE(json["cases"].size(), 800u);
    for (const auto& c : json["cases"]) {
        const std::string source = c["template"];
        const Outcome found = outcome(source, variables.dict());
        if (c.contains("text")) {
            EXPECT_EQ(found.text, c["text"].get<std::string>()) << source << "\n" << found.error;
        } else {
            EXPECT_EQ(found.text, std::nullopt) << source << "\nis expected to fail: " << c;
        }
        const std::string error = c.contains("raises")
                                      ? "the template refuses: " + c["raises"].get<std::string>()
                                  : c.contains("fails") ? "template line "
                                                        : "";
        EXPECT_TRUE(found.error.starts_with(error)) << source << "\n" << found.error;
    }
}

}  // namespace
}  // namespace plait::text::jinja
