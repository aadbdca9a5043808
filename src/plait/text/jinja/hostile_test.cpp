#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "plait/base/error.h"
#include "plait/text/jinja/json.h"
#include "plait/text/jinja/test_support.h"

// Templates that somebody wrote to do harm: they end with an Error, soon and without taking the memory.
namespace plait::text::jinja {
namespace {

using testing::HasSubstr;

std::string repeated(std::string_view text, int count) {
    std::string result;
    for (int i = 0; i < count; ++i) result += text;
    return result;
}

std::string error_of(std::string_view source, const Limits& limits = {}) {
    return outcome(source, Dict(), limits).error;
}

std::string text_of(std::string_view source) {
    const Outcome found = outcome(source, Dict());
    EXPECT_EQ(found.error, "") << source.substr(0, 200);
    return found.text.value_or("");
}

// Each flag counts once; what comes after the width is no second width.
TEST(Hostile, FlagsOfAFormatMayBeRepeated) {
    EXPECT_EQ(text_of("{{ '%" + repeated("0", 5000) + "6.1f' % 2 }}"), "0002.0");
    EXPECT_EQ(text_of("{{ '%" + repeated("-", 5000) + "4d|' % 2 }}"), "2   |");
    EXPECT_EQ(text_of("{{ '%" + repeated("+ ", 5000) + "d' % 2 }}"), "+2");
    EXPECT_THAT(error_of("{{ '%.-5f' % 2 }}"), HasSubstr("unknown conversion %'-'"));
}

TEST(Hostile, DeepSyntaxIsRefused) {
    for (const auto& [open, close] :
         {std::pair("(", ")"), std::pair("[", "]"), std::pair("{1:", "}"), std::pair("x[", "]"),
          std::pair("f(", ")"), std::pair("1 if 1 else ", ""), std::pair("not ", ""), std::pair("-", ""),
          std::pair("x is odd(", ")")}) {
        const std::string source = "{{ " + repeated(open, 20'000) + "1" + repeated(close, 20'000) + " }}";
        EXPECT_THAT(error_of(source), HasSubstr("expected at most 150 brackets and blocks")) << open;
    }
    EXPECT_THAT(error_of(repeated("{% if 1 %}", 20'000)),
                HasSubstr("expected at most 150 brackets and blocks"));
    EXPECT_THAT(error_of("{% set " + repeated("(", 20'000) + repeated(")", 20'000) + " = 1 %}"),
                HasSubstr("expected at most 150 brackets"));
    for (const char* more : {" + 1", ".x", "[0]", "()", "|abs", " or 0", " and 1", " if 1", " ** 1"}) {
        EXPECT_THAT(error_of("{{ 1" + repeated(more, 20'000) + " }}"),
                    HasSubstr("expected at most 1000 operators"))
            << more;
    }
}

TEST(Hostile, DeepSyntaxWithinTheLimitsWorks) {
    EXPECT_EQ(text_of("{{ " + repeated("(", 100) + "1" + repeated(")", 100) + " }}"), "1");
    EXPECT_EQ(text_of(repeated("{% if 1 %}", 100) + "x" + repeated("{% endif %}", 100)), "x");
    EXPECT_EQ(text_of("{{ 0" + repeated(" + 1", 500) + " }}"), "500");
    EXPECT_EQ(text_of("{{ ''" + repeated(" ~ 'ab'", 50'000) + " }}").size(), 100'000u);
    EXPECT_EQ(text_of("{% if 0 %}" + repeated("{% elif 0 %}", 50'000) + "{% endif %}x"), "x");
}

TEST(Hostile, EndlessRecursionEnds) {
    EXPECT_THAT(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
                HasSubstr("more than 600 calls"));
    EXPECT_THAT(error_of("{% macro m() %}{% call m() %}{% endcall %}{% endmacro %}{{ m() }}"),
                HasSubstr("more than 600 calls"));
    EXPECT_THAT(error_of("{% macro m(x=m()) %}{% endmacro %}{{ m() }}"), HasSubstr("more than 600 calls"));
}

TEST(Hostile, LongLoopsEnd) {
    const std::string loop = "{% for i in range(100000) %}";
    EXPECT_THAT(error_of(loop + loop + "{% endfor %}{% endfor %}"), HasSubstr("more than the"));
    EXPECT_THAT(error_of(loop + loop + "{{ i }}{% endfor %}{% endfor %}"), HasSubstr("more than the"));
    EXPECT_THAT(error_of(loop + "{% endfor %}", {.steps = 1000}), HasSubstr("more than the 1000 steps"));
    EXPECT_THAT(error_of("{{ range(100001) }}"), HasSubstr("range expects at most 100000 numbers"));
    EXPECT_THAT(error_of("{{ range(-9223372036854775807, 9223372036854775807) }}"),
                HasSubstr("range expects"));
}

TEST(Hostile, LargeTextsAreRefusedBeforeTheyAreMade) {
    for (const char* source :
         {"{{ 'a' * 9223372036854775807 }}", "{{ 'ab' * 1000000000 }}", "{{ [0] * 1000000000 }}",
          "{{ 'a'.ljust(2000000000) }}", "{{ 'a'|center(1000000000) }}",
          "{{ [1]|batch(1000000000, 0)|list }}",
          "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% "
          "endfor %}",
          "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
          "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x.replace('a', 'aaaa') "
          "%}{% endfor %}",
          "{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x.join(ns.x) %}{% endfor "
          "%}"}) {
        const std::string error = error_of(source, {.bytes = 50'000'000});
        EXPECT_TRUE(error.find("more than the") != error.npos || error.find("too large") != error.npos)
            << source << ": " << error;
    }
    EXPECT_THAT(error_of("{{ '%99999999d' % 1 }}"), HasSubstr("width of at most 10000"));
    EXPECT_THAT(error_of("{{ 'a\nb'|indent(99999999) }}"), HasSubstr("at most 10000"));
    EXPECT_THAT(error_of("{{ strftime_now('%99999999Y') }}"), HasSubstr("reasonable width"));
    EXPECT_THAT(error_of("{{ 'abcdefgh' * 100 }}", {.bytes = 500}), HasSubstr("more than the 500 bytes"));
}

// A value that holds another twice, and so on, is small but writes as a text without end.
TEST(Hostile, SharedValuesAreNotUnrolled) {
    const std::string twice =
        "{% set a = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set a.x = [a.x, a.x] %}{% set a.y = "
        "[a.y, a.y] %}"
        "{% endfor %}";
    for (const char* use :
         {"{{ a.x }}", "{{ a.x|tojson }}", "{{ a.x == a.y }}", "{{ a.x < a.y }}", "{{ a.x in [a.y] }}",
          "{{ [a.x, a.y]|sort }}", "{{ a.x ~ '' }}", "{{ [a.x]|join }}", "{{ '%s' % [a.x] }}"}) {
        EXPECT_THAT(error_of(twice + use), HasSubstr("more than the")) << use;
    }
}

TEST(Hostile, DeepValuesAreRefused) {
    for (const char* step :
         {"[a.x]", "(a.x,)", "{'k': a.x}", "[a.x].copy", "{'k': a.x}.items()", "[a.x]|map('list')"}) {
        const std::string source =
            std::string("{% set a = namespace(x=1) %}{% for i in range(100000) %}{% set a.x = ") + step +
            " %}{% endfor %}";
        EXPECT_NE(error_of(source), "") << step;
    }
    EXPECT_THAT(
        error_of("{% set a = namespace(x=1) %}{% for i in range(999) %}{% set a.x = [a.x] %}{% endfor %}"),
        HasSubstr("more than 100 values inside one another"));
    EXPECT_THROW(parse_json(repeated("[", 101) + repeated("]", 101)), Error);
    EXPECT_NO_THROW(parse_json(repeated("[", 90) + repeated("]", 90)));
}

TEST(Hostile, CirclesAndChainsGoAway) {
    // Leaks and deep destructors would show under AddressSanitizer.
    EXPECT_EQ(
        text_of("{% set a = namespace() %}{% set a.me = a %}{% set a.list = [a] %}{{ a.me.me is defined }}"),
        "True");
    EXPECT_EQ(text_of("{% for i in [1, 2] %}{{ loop.changed(loop) }}{% endfor %}"), "TrueFalse");
    EXPECT_EQ(text_of("{% set a = namespace(x=1) %}{% for i in range(100000) %}{% set a.x = namespace(x=a.x) "
                      "%}{% endfor %}"
                      "{% set a.x = 2 %}{{ a.x }}"),
              "2");
    EXPECT_EQ(text_of("{% set a = namespace() %}{% for i in [1] %}{% set a.loop = loop %}{% endfor %}{{ "
                      "a.loop.index }}"),
              "2");
    EXPECT_THAT(
        error_of(
            "{% set a = namespace() %}{% for i in [1] %}{% macro m() %}{{ i }}{% endmacro %}{% set a.m = m %}"
            "{% endfor %}{{ a.m() }}"),
        HasSubstr("outside the block that it stands in"));
}

TEST(Hostile, TimeGrowsWithTheText) {
    const auto start = std::chrono::steady_clock::now();
    const std::string a = repeated("a", 1'000'000);
    Dict variables({{Value("a"), Value(a)}, {Value("b"), Value(repeated("a", 500'000) + "b")}});
    for (const char* source :
         {"{{ b in a }}", "{{ a.find(b) }}", "{{ a.rfind('b' ~ b) }}", "{{ a.count(b) }}",
          "{{ a.replace(b, '') | length }}", "{{ a.split(b) | length }}", "{{ a.rsplit(b) | length }}",
          "{{ a[::-1] | length }}", "{{ a.strip(a) }}", "{{ a[:200000] | unique | list | length }}",
          "{{ a[:50000] | sort | length }}", "{{ a[:200000] | list | join | length }}",
          "{{ a | tojson | length }}", "{{ a.title() | wordcount }}", "{{ a.partition(b) | length }}",
          "{{ (' ' * 1000000).split() | length }}"}) {
        const Outcome found = outcome(source, variables);
        EXPECT_TRUE(found.text) << source << ": " << found.error;
    }
    for (const char* part :
         {"{", "{{", "{%", "{#", "}}", "\n ", "{% raw %}", "{%-", "{{ '", " ", "{{ 1", "{% endraw", "\r"}) {
        outcome(repeated(part, 200'000), Dict());  // text or error: soon
        outcome("{% raw %}" + repeated(part, 200'000), Dict());
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Hostile, AnyBytesAreTextOrAnError) {
    const std::vector<std::string> parts = {
        "{{",  "}}",   "{%",    "%}",     "{#",    "#}", "-",   "+", " ", "\n",  "if",     "for", "in", "x",
        "set", "=",    "endif", "endfor", "else",  "(",  ")",   "[", "]", "|",   ".",      ",",   "'",  "\"",
        "1",   "\xff", "\xc3",  "é",      "macro", "is", "not", "~", ":", "raw", "endraw", "\\"};
    std::mt19937 random(7);
    int texts = 0, errors = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string source;
        for (uint32_t length = random() % 12; length > 0; --length) source += parts[random() % parts.size()];
        const Outcome found = outcome(source, Dict());
        ++(found.text ? texts : errors);
        EXPECT_TRUE(found.text || found.error.starts_with("template line ")) << source << ": " << found.error;
    }
    EXPECT_GT(texts, 1000);
    EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace plait::text::jinja
