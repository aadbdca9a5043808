// Any bytes as a chat template: parsed, and rendered for a conversation.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plait/base/error.h"
#include "plait/base/log.h"
#include "plait/text/jinja/json.h"
#include "plait/text/jinja/template.h"

namespace {

using namespace plait;
using namespace plait::text;

// Small enough that a run takes milliseconds; the recursion is as deep as ever.
constexpr jinja::Limits kLimits = {.steps = 20'000, .bytes = 2 << 20};

const jinja::Value& variables() {
    static const jinja::Value value = jinja::parse_json(R"({
        "messages": [{"role": "system", "content": "Brief."}, {"role": "user", "content": "Grüße \"x\"\n"},
                     {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5]}}}]},
                     {"role": "tool", "content": [{"type": "text", "text": "1"}]}],
        "tools": [{"function": {"name": "f", "parameters": {"properties": {"a": {"type": "array"}}, "required": []}}}],
        "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "documents": null})");
    return value;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    set_up_log({.level = LogLevel::error});
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view source(reinterpret_cast<const char*>(data), size);
    try {
        jinja::Template(source).render(variables().dict(), {.now = 0, .limits = kLimits});
    } catch (const Error&) {
        // says what is wrong with it
    }
    return 0;
}
