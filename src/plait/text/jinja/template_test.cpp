#include "plait/text/jinja/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/base/error.h"
#include "plait/text/jinja/json.h"
#include "plait/text/jinja/test_support.h"

namespace plait::text::jinja {
namespace {

TEST(Template, SaysWhereAndWhat) {
    const struct {
        const char* source;
        const char* error;
    } cases[] = {
        {"a\nb {{ 1 + 'x' }}", "template line 2, column 8: + is not defined for int and str"},
        {"{{ user.name }}", "template line 1, column 9: 'user' is undefined"},
        {"é{{ x.y.z }}", "template line 1, column 9: 'dict object' has no attribute 'y'"},
        {"{% if x %}", "template line 1, column 11: expected '{% endif %}', found the end of the template"},
        {"{% for x of y %}", "template line 1, column 10: expected 'in', found 'of'"},
        {"{% include 'x' %}",
         "template line 1, column 4: unexpected tag 'include'; known: if, for, set, with, macro, call, "
         "filter, generation, "
         "print, break, continue"},
        {"{{ x|nope }}", "template line 1, column 6: unknown filter 'nope'"},
        {"{{ x is nope }}", "template line 1, column 9: unknown test 'nope'"},
        {"{{ 'a }}", "template line 1, column 4: expected ' to end this string"},
        {"\n\n{{ a", "template line 3, column 1: expected '}}' to end this tag"},
        {"{# a", "template line 1, column 1: expected '#}' to end this comment"},
        {"{{ 9223372036854775808 }}",
         "template line 1, column 4: the integer 9223372036854775808 does not fit in 64 bits"},
        {"{{ 9223372036854775807 + 1 }}", "template line 1, column 24: the result does not fit in 64 bits"},
        {"{{ 'a'.replace('b') }}", "template line 1, column 15: replace needs the argument 'new'"},
        {"{{ 'a'.upper(1) }}", "template line 1, column 13: upper takes at most 0 arguments, found 1"},
        {"{{ range(x) }}", "template line 1, column 9: range expects an int as 'start', found dict"},
        {"{{ [].append(1) }}",
         "template line 1, column 13: access to attribute 'append' of 'list' object is unsafe"},
        {"{% for a, b in [[1]] %}{% endfor %}",
         "template line 1, column 8: expected 2 values to unpack, found 1"},
        {"{% set x.y = 1 %}",
         "template line 1, column 8: cannot assign to an attribute of 'x': it is no namespace"},
        {"{% break %}", "template line 1, column 4: expected this tag inside a loop"},
        {"{{ raise_exception('Roles must alternate') }}", "the template refuses: Roles must alternate"},
        {"{{ '\\u12' }}",
         "template line 1, column 4: expected the 4 digits of a character after a backslash, found '12'"},
    };
    const Dict variables({{Value("x"), Value(Dict())}});
    for (const auto& c : cases) EXPECT_EQ(outcome(c.source, variables).error, c.error) << c.source;
}

TEST(Template, BytesThatAreNoCharacterPassThrough) {
    const Dict variables({{Value("x"), Value(std::string("a\xff\xc3z\xe4\xb8"))}});
    EXPECT_EQ(outcome("\xfe{{ x }}", variables).text,
              "\xfe"
              "a\xff\xc3z\xe4\xb8");
    EXPECT_EQ(outcome("{{ x|length }}{{ x[1] }}{{ x.upper()[::-1] }}", variables).text,
              "6\xff\xb8\xe4Z\xc3\xff"
              "A");
    EXPECT_EQ(outcome("{{ x|tojson }}", variables).text, "\"a\xff\xc3z\xe4\xb8\"");
}

TEST(Template, RendersAnyNumberOfTimes) {
    const Template one("{{ n }}");
    const Template copy = one;
    for (int n = 0; n < 3; ++n) {
        EXPECT_EQ(copy.render(Dict({{Value("n"), Value(n)}})), std::to_string(n));
    }
}

TEST(Json, ReadsWhatPythonReads) {
    const Value value =
        parse_json(R"({"b":[1,-2,2.5,1e3,true,null,"\u00e9\n"],"a":{},"b2":18446744073709551615})");
    EXPECT_EQ(outcome("{{ v }}", Dict({{Value("v"), value}})).text,
              "{'b': [1, -2, 2.5, 1000.0, True, None, 'é\\n'], 'a': {}, 'b2': 1.8446744073709552e+19}");
    for (const char* bad : {"", "{", "[1,]", "nope", "\"\xff\""}) {
        EXPECT_THROW(parse_json(bad), Error) << bad;
    }
}

TEST(Dict, KeepsTheOrderAndFindsEqualNumbers) {
    const Dict dict(
        {{Value("z"), Value(1)}, {Value(1), Value(2)}, {Value("a"), Value(3)}, {Value(true), Value(4)}});
    ASSERT_EQ(dict.size(), 3u);
    EXPECT_EQ(dict.entries()[0].first.text(), "z");
    EXPECT_EQ(dict.find(Value(1.0))->integer(), 4) << "the last value of equal keys";
    EXPECT_EQ(dict.entries()[1].first.is_bool(), false) << "the first key of equal ones";
    EXPECT_EQ(dict.find("q"), nullptr);
    EXPECT_EQ(Dict().find("q"), nullptr);
}

}  // namespace
}  // namespace plait::text::jinja
