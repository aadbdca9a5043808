"""Writes language.json: small templates and what the Python library jinja2 (an independent implementation) makes of
them, in the environment that chat templates are rendered in. Needs `pip install jinja2`.

    python3 make_language.py > language.json
"""

import json

from jinja_env import outcome

VARIABLES = {
    "name": "Ada", "empty": "", "long": "one two  three\tfour\nfive", "zero": 0, "n": 7, "neg": -7, "x": 2.5, "big": 1e16,
    "yes": True, "no": False, "nothing": None, "items": [3, 1, 2], "none_at_all": [],
    "words": ["pear", "Apple", "fig", "apple"], "umlaut": "Größe 三股 🧶 naïve", "quote": "it's \"so\"\\\n\t\u200b\x7f",
    "user": {"name": "Eve", "age": 30, "tags": ["a", "b"], "items": "mine", "nested": {"deep": {"er": 1}}},
    "people": [{"name": "Bo", "age": 9, "ok": True}, {"name": "al", "age": 31}, {"name": "Cy", "age": 9, "ok": False}],
    "pairs": {"b": 2, "a": 1, "C": 3}, "html": "<a href='x'>&\"</a>", "mixed": [1, "a", None, True, 2.0, [1, "b"], {"k": "v"}],
    "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}],
}

EXPRESSIONS = r"""
1 + 2 * 3 - 4
7 // 2, -7 // 2, 7 // -2, 7 % 3, -7 % 3, 7 % -3, 7 / 2, 6 / 3
7.5 // 2, -7.5 // 2, 7.5 % 2, -7.5 % 2, 7.5 % -2, -0.0 % 3
2 ** 10, 2 ** -1, 2 ** 3 ** 2, -2 ** 2, (-2) ** 3, 2.0 ** 0.5, 10 ** 18
1 / 0
1 // 0
5 % 0
0.0 / 0
1.0 * 3, 1e3, 1.5e-7, 1e16, 123456789012345.0, 0.1 + 0.2, 1e22, 1e-4, 1e-5, 100.0, 1_000, 12_34.5_0
true + 1, true * 3, -true, true == 1, 1 == 1.0, true, false, none
"a" + "b", "ab" * 3, 3 * "ab", "ab" * -1, [1] + [2], [0] * 3, (1,) + (2,), (1, 2) * 2
"a" + 1
1 + "a"
[1] + (2,)
none + 1
"a" - "b"
"a" ~ 1 ~ none ~ true ~ 2.0 ~ missing ~ [1, "x"]
1 ~ 2 + 3, 1 + 2 ~ 3, "a" ~ 2 * 3
-5|abs, (-5)|abs, -x|abs, - -3, +3, -n, +x
n > 3 and n < 10, 3 < n < 10, 3 < n > 10, 1 < 2 < 3 < 4, n == 7 != 8, 1 < 1
not n, not not n, not zero, not empty, not none_at_all, not nothing, not missing
n and name, zero and name, zero or name, nothing or empty or "end", n or missing
"a" < "b", "a" < "B", "abc" < "abd", "ab" < "abc", [1, 2] < [1, 3], (1, 2) < (1, 2, 0), "ö" > "z"
1 < "a"
none < 1
[1] < (1,)
missing < 1
"d" in name, "da" in name, "" in name, "x" not in name, 3 in items, 9 in items, "name" in user, "zzz" in user, 1 in (1, 2)
1 in "123"
1 in 5
none in none_at_all, none in mixed, missing in items, missing in user, "a" in missing
[1] in user
items == [3, 1, 2], items == (3, 1, 2), user == user, {"a": 1, "b": 2} == {"b": 2, "a": 1}, [1, 2.0] == [1.0, 2], none == false, "" == none
missing == missing, missing == none, missing == ""
"yes" if n > 3 else "no", "yes" if zero, ("yes" if zero) is defined, 1 if zero else 2 if zero else 3
name[0], name[-1], name[1:], name[:-1], name[::-1], name[::2], name[5:], name[-2:], umlaut[2], umlaut[3:8], umlaut[-7], umlaut[::-1]
name[9], name[-9]
items[0], items[-1], items[1:], items[:1], items[::-1], items[5:9], items[-2:], items[::2], items[2:0:-1], items[3], items[none:2]
items[::0]
items["a":]
items.0, items[0.5], user.tags.1, user["tags"][0], user.nested.deep.er, user["nested"]["deep"]["er"]
user.name, user["name"], user.items, user["items"], user.missing, user["missing"], user.tags[5]
user.missing.more
user["missing"]["more"]
missing
missing.attribute
missing["item"]
missing()
missing + 1
-missing
missing ~ "x", missing|length, missing|list, missing|string, missing|trim, missing|upper, missing|default("d"), missing|join(","), missing|first
missing|int
missing|tojson
nothing.x, nothing["x"], (nothing.x) is defined, n.x, n["x"], name.x, items.x
nothing.x.y
name.upper(), name.lower(), "ada lovelace".title(), "aDA".capitalize(), "it's 3rd-rate o'neil".title(), "ß".upper(), "ÀÉ".lower(), "Ab".swapcase()
"  a b ".strip() ~ "|", "  a ".lstrip() ~ "|", "  a ".rstrip() ~ "|", "xxaxx".strip("x"), "xyaxy".lstrip("yx"), "abcba".rstrip("ab"), "\u00a0a\u3000".strip(), "a".strip("")
long.split(), "a,b,,c".split(","), "a,b,,c".split(",", 1), "a,b,,c".rsplit(",", 1), "".split(), "".split(","), " a  b ".split(" "), "a b c d".split(none, 2), "a b  c d ".rsplit(none, 1), "a b c".rsplit(none, 0), "aXXbXXc".split("XX"), "a--b--c".rsplit("--", 1), "aaa".rsplit("aa", 1), "a b".split(maxsplit=0)
"abc".split("")
"a\nb\r\nc\n\nd".splitlines(), "".splitlines(), "a\n".splitlines()
"abcabc".replace("b", "X"), "abcabc".replace("b", "X", 1), "abc".replace("", "-"), "abc".replace("", "-", 2), "".replace("", "x"), "aaa".replace("aa", "b"), "abc".replace("z", "y"), "éa".replace("", ".")
"abc".startswith("ab"), "abc".startswith(("x", "a")), "abc".endswith("bc"), "abc".endswith("x"), "abc".startswith("b", 1), "abc".endswith("b", 0, 2), "".startswith("")
"abcabc".find("c"), "abcabc".find("x"), "abcabc".find("c", 3), "abcabc".rfind("b"), "öb".find("b"), "abcabc".find("a", 1, 3), "abcabc".index("c"), "aaaa".count("aa"), "aaaa".count(""), "abc".count("z"), "abcabc".count("b", 2), "abab".rindex("a"), "abc".find("")
"abc".index("x")
", ".join(["a", "b"]), "".join("abc"), "-".join(words), "x".join([]), ",".join(user), "-".join({"a": 1, "b": 2}.keys())
",".join([1, 2])
"12".isdigit(), "1a".isdigit(), "".isdigit(), "ab".isalpha(), "a b".isalpha(), "ö".isalpha(), "A1".isalnum(), "AB".isupper(), "aB".islower(), " \n".isspace(), "12".isnumeric(), "3".isdecimal()
"7".zfill(3), "-7".zfill(4), "abc".zfill(2), "a".ljust(3) ~ "|", "a".rjust(3), "a".center(4) ~ "|", "ab".center(5, "*"), "a".ljust(4, ".")
"prefix-x".removeprefix("prefix-"), "x.txt".removesuffix(".txt"), "x".removeprefix("y"), "a=b=c".partition("="), "a=b=c".rpartition("="), "abc".partition("="), "abc".rpartition("=")
"{} and {}".format(1, "x"), "{0}{1}{0}".format("a", "b"), "{who}!".format(who=name), "{{}}".format()
"{}".format()
"%s is %d" % (name, n), "%s" % name, "%05.1f|%-5s|%5s|%x|%%" % (x, "a", "b", 255), "%(name)s" % user, "%s %s" % ("a", none), "%r" % "x", "%+d" % 3, "%c" % "x", "%.2s" % "abc", "%e" % 12345.678, "%g" % 0.0001, "%i" % 3.9, "%s" % [1, 2], "%s" % {"a": 1}
"%d" % "x"
"%s %s" % "a"
"%s" % ("a", "b")
"%z" % 1
user.get("name"), user.get("zzz"), user.get("zzz", "d"), user.keys()|list, user.values()|list|length, {"a": 1}.items()|list, {"a": 1}.copy()
pairs.items()|list, pairs.keys()|join(","), pairs|list, pairs|length, pairs.values()|sum
items.index(1), items.count(3), (1, 2, 1).count(1), (1, 2).index(2), items.copy()
items.index(9)
items.append(4)
user.update({"a": 1})
user.pop("name")
items.append is defined, user.get is defined, name.upper is callable, name.nope is defined
[], [1], [1, 2,], (), (1,), (1, 2), {}, {"a": 1}, {"a": 1, "b": [2]}, {1: "x", none: "y", true: "z"}, {"a": 1, "a": 2}
{[1]: 2}
mixed, [1.0, "a'b", 'a"b', "a'\"b", "\n\t\\"], {"k": quote}, umlaut, [umlaut], [quote], ["\u200b\x00\x1f\U0001F9F6\ue000"], ("x",)
'a\nb', "tab\there", 'q\'q', "\x41\u00e9\U0001F9F6\101", "un\known", 'a' 'b' "c", "new\
line"
1, 2
[x for x in items]
1 +
"unterminated
(1
{"a": 1
n is defined, missing is defined, missing is undefined, nothing is none, n is not none, n is number, yes is number, x is number, name is number
n is integer, yes is integer, x is float, n is float, yes is boolean, n is boolean, yes is true, no is false, n is true, 1 is true
name is string, n is string, items is sequence, name is sequence, user is sequence, n is sequence, items is iterable, name is iterable, n is iterable, missing is iterable, missing is sequence, missing is callable
user is mapping, items is mapping, range is callable, name is callable, (1, 2) is sequence, user.items is callable
n is odd, n is even, zero is even, n is divisibleby 7, n is divisibleby(2), neg is odd, 2.0 is even
n is eq 7, n is equalto(7), n is ne 7, n is lt 8, n is le 7, n is gt 8, n is ge 7, n is greaterthan 3, n is lessthan 3, n is sameas 7
"a" is in "abc", 3 is in items, 3 is in(items), 9 is not in items, "x" is in user
"abc" is lower, "Abc" is lower, "ABC" is upper, "" is upper, "1" is lower
n is not odd, not n is odd, n is odd and n is number, n is odd or zero, n is defined and n
n is nonsense
n is number is number
"upper" is filter, "nope" is filter, "even" is test, "nope" is test
nothing is sameas none, yes is sameas true, no is sameas nothing, items is sameas items, user is sameas user
"a"|nonsense
" a "|trim ~ "|", "xax"|trim("x"), 12|trim, nothing|trim
name|upper, name|lower, "ab cd-ef (gh [ij {kl <mn o'p"|title, "aB c"|capitalize, 12|upper, "ÀB"|title
items|length, name|length, user|count, umlaut|length, none_at_all|length, ""|length
n|length
"hello world"|replace("o", "0"), "hello"|replace("l", "L", 1), 112|replace(1, 2), "aaa"|replace("a", "b", count=2)
items|first, items|last, name|first, name|last, none_at_all|first, none_at_all|last, user|first, umlaut|last
items|join, items|join(", "), words|join("-"), people|join("+", attribute="name"), name|join("."), user.tags|join(1), mixed|join("|"), none_at_all|join("x"), people|join(", ", "age")
items|sort, items|sort(reverse=true), words|sort, words|sort(case_sensitive=true), people|sort(attribute="age")|map(attribute="name")|join(","), people|sort(attribute="age,name")|map(attribute="name")|join(","), people|sort(true, attribute="age")|map(attribute="name")|join(","), "hello"|sort, pairs|sort
mixed|sort
pairs|dictsort, pairs|dictsort(true), pairs|dictsort(by="value"), pairs|dictsort(reverse=true), pairs|dictsort(false, "value", true)
items|dictsort
words|unique|list, [1, 1.0, true, 2]|unique|list, words|unique(case_sensitive=true)|list, people|unique(attribute="age")|map(attribute="name")|list
items|reverse|list, name|reverse, umlaut|reverse, user|reverse|first, (1, 2)|reverse|list
items|sum, [1.5, 2]|sum, people|sum(attribute="age"), items|sum(start=10), none_at_all|sum, [[1], [2]]|sum(start=[])
words|sum
items|min, items|max, words|min, words|max, words|max(case_sensitive=true), none_at_all|min, people|max(attribute="age"), people|min(attribute="age"), [2, 2.0]|max
people|map(attribute="name")|list, people|map(attribute="ok", default="?")|list, words|map("upper")|list, words|map("replace", "p", "P")|list, people|map(attribute="ok")|list|length, ["1", "x"]|map("int", 9)|list, [[1, 2], [3]]|map("sum")|list, people|map(attribute="name.0")|join, [[1, 2]]|map(attribute=1)|list
items|map
items|map("nonsense")|list
items|select("odd")|list, items|reject("odd")|list, [0, 1, "", "a", none]|select|list, [0, 1, "", "a"]|reject|list, items|select("gt", 1)|list, words|select("in", ["fig"])|list, items|select("equalto", 3)|list
people|selectattr("ok")|map(attribute="name")|list, people|rejectattr("ok")|map(attribute="name")|list, people|selectattr("age", "equalto", 9)|list|length, people|selectattr("ok", "defined")|list|length, people|rejectattr("age", "gt", 10)|map(attribute="name")|join("/"), people|selectattr("name", "in", ["Bo", "Cy"])|list|length, messages|selectattr("role", "equalto", "user")|map(attribute="content")|first
people|selectattr
(people|selectattr("nope")) is defined, "true" if people|selectattr("nope") else "false", items|select("odd")|first, none_at_all|select|first
items|select("odd")|length
items|list, "abc"|list, user|list, range(3)|list, {"a": 1}|items|list, missing|items|list, (1, 2)|list
items|items
n|list
user|items|first, pairs|items|map("first")|list, pairs|items|map(attribute=1)|sum
missing|default, missing|default("x"), empty|default("x"), empty|default("x", true), nothing|default("x"), nothing|default("x", true), zero|d(5, boolean=true), user.nope|default("y"), name|default("z")
"42"|int, "x"|int, "x"|int(9), 3.9|int, "3.9"|int, -3.9|int, " 12 "|int, "0x1f"|int(0, 16), "1f"|int(base=16), true|int, nothing|int, "1_000"|int, items|int, "1e3"|int, ""|int(default=5), "101"|int(0, 2), "+5"|int, "--5"|int
"2.5"|float, "x"|float, "x"|float(1.5), 3|float, true|float, "1e3"|float, nothing|float, " .5 "|float, "-2."|float, "inf"|float, "nan"|float
2.5|round, 3.5|round, 42.55|round(1), 42.55|round(1, "floor"), 42.51|round(0, "ceil"), 5|round, -2.5|round, 1.005|round(2), 2.675|round(2), 0.5|round, 1.5|round|int, 7|round(1), 1234.5|round(-2)
"x"|round
3|string ~ "x", none|string, true|string, 2.0|string, [1, "a"]|string, {"a": none}|string
html|e, html|escape|upper, html|safe, 5|e, html|forceescape
"a b_c d-e"|wordcount, ""|wordcount, "naïve wörter"|wordcount
"a\nb\n\nc"|indent, "a\nb"|indent(2), "a\nb"|indent(2, true), "a\n\nb"|indent(2, blank=true), "a\nb\n"|indent(2) ~ "|", "a\nb"|indent("> "), ""|indent(2, true) ~ "|", "a\nb"|indent(width=1, first=true)
"abc"|center(9) ~ "|", "a"|center(2) ~ "|"
"foo bar baz qux"|truncate(9), "foo bar baz qux"|truncate(9, true), "foo bar baz qux"|truncate(11), "foo bar baz qux"|truncate(11, leeway=0), "foo bar"|truncate(5, end="!", leeway=0), "foobarbazqux"|truncate(6, leeway=0)
"%s-%s"|format(1, "x"), "%(a)s"|format(a=3)
[1, 2, 3, 4, 5]|batch(2)|list, [1, 2, 3]|batch(2, "x")|list, none_at_all|batch(2)|list
name|attr("upper"), (user|attr("name")) is defined
mixed|tojson, user|tojson, umlaut|tojson, quote|tojson, html|tojson, "a/b"|tojson, 1.0|tojson, 1e16|tojson, none|tojson, true|tojson, "nan"|float|tojson, (1, 2)|tojson, {}|tojson, []|tojson, {1: 2, none: 3, true: 4, 2.5: 5}|tojson
user|tojson(indent=2), [[], {}, [1, {"a": []}]]|tojson(indent=4), user|tojson(separators=(",", ":")), user|tojson(sort_keys=true), umlaut|tojson(ensure_ascii=true), [1, 2]|tojson(indent=0), [1]|tojson(indent="--"), {"a": [1, 2]}|tojson(indent=1, separators=(", ", " : ")), "\x7f\x1f\u2028"|tojson, "\x7f🧶é"|tojson(ensure_ascii=true)
range|tojson
range(3)|tojson
{"a": missing}|tojson
range(5)|list, range(2, 5)|list, range(5, 0, -2)|list, range(0)|list, range(3)[1], range(3)|length, range(10)[2:4]|list, 3 in range(5), range(3), range(2, 8, 2)|last, range(-3)|list
range(0, 5, 0)
range(200000)
range("a")
dict(a=1, b=2), dict({"a": 1}, b=3), dict([("a", 1), ("b", 2)]), dict(), dict(**{"x": 1})
dict([1])
namespace(a=1).a, namespace({"b": 2}).b, namespace().c is defined
strftime_now("%Y-%m-%d"), strftime_now("%d %b %Y %H:%M:%S"), strftime_now("%A, %B %d, %j %y %I %p %%"), strftime_now("")
raise_exception("no " ~ name)
raise_exception("")
name(1)
n()
name.upper(1)
name.replace("a")
name.split(nope=1)
"a"|replace("b")
items|join(d="-"), items|join(attribute=none, d="+")
items|join("a", "b", "c")
name.__class__, name.__class__ is defined
()|length, (1)|string, (1,)|length, ((1, 2), 3)
"a" "b"|upper, "x"|upper ~ "y"|upper, -1|abs|string
(1 if yes else 2) + 3, [1 if no, 2], {"k": 1 if yes else 2}
"a" if yes and no else "b" if yes or no else "c"
1 if 2 if 0 else 3 else 4
not yes == no, not (yes and no), yes and not no
not yes in items
items[items[1]], user["na" ~ "me"], {"a": {"b": 1}}["a"]["b"], [1, 2, 3][-1:][0], "abc"[1:][0]
[[1, 2], [3, 4]][1][0], ([1, 2] + [3])[2], "a-b".split("-")[1].upper(), (name|upper)[0], name[0]|lower
1.5.x, 1.upper
items.1 + 1, user.tags.0 ~ user.tags.1
9223372036854775807, -9223372036854775807 - 1
true and "x" or "y", none or 0, [] or {} or "e"
""|default("x", true) ~ "b", nothing|default("x", true)|upper
"a"|replace("a", "b")|upper|lower|title|length
loop is defined, caller is defined, varargs is defined
3 > 2 > 1, 3 > 2 == 2, 1 == 1 in [1]
'{{ not a tag }}', "{% nor this %}", '{# nor #}', "}}"
{"a": {"b": {}}}, {'x': '}}'}
umlaut.upper(), umlaut.split(), umlaut.find("🧶"), umlaut|title, umlaut|reverse, "Ａ三"[0], "🧶"|length
"a,b;c".replace(",", ";").split(";"), ("a b" * 2).split(), ("a" ~ "b").upper()
""" .strip("\n")

TEMPLATES = [
    "", "plain", "trailing\n", "trailing\n\n", "\n", "\r\na\rb\r\n", "{{ name }}\n", "{ not } {a} {{ '}}' }} #} %}",
    "a{# comment #}b", "a {#- c -#} b", "a\n  {# c #}\nb", "{# multi\nline #}\nx", "{##}x", "a{#-#}b", "a {#- -#} b",
    "a\n{% if yes %}\nb\n{% endif %}\nc", "a\n  {% if yes %}  \n  b\n  {% endif %}\nc", "  {% if yes %}x{% endif %}  ",
    "a\n  {%- if yes %}\n  b\n  {%- endif %}\nc", "a\n  {% if yes -%}\n  b\n  {% endif -%}\nc", "a\n  {%+ if yes %}b{% endif %}\nc",
    "a {{- name -}} b", "a\n {{- name }}\n b", "a\n{{ name -}}\n\n b", "  {{ name }}  \n", "{% if yes +%}\nx{% endif %}",
    "{% if yes %}\n\n{% endif %}x", "{% if yes %} \n{% endif %}x", "x{% set a = 1 %}\ny", "x {%- set a = 1 -%} y", "\t{% if yes %}a{% endif %}",
    "{% raw %}{{ x }} {% if %}{% endraw %}", "a {%- raw -%} {{ x }} {%- endraw -%} b", "  {% raw %}\n x\n  {% endraw %}\ny", "{% raw %}{% raw %}{% endraw %}",
    "{%raw%}a{%endraw%}b", "{{name}}{{-name}}{{name-}} x", "{{ name\n}}", "{%\nif\nyes\n%}a{%\nendif\n%}",
    "{% if yes %}a{% else %}b{% endif %}", "{% if no %}a{% elif n == 7 %}b{% else %}c{% endif %}", "{% if no %}a{% elif zero %}b{% endif %}!",
    "{% if n, %}t{% endif %}", "{% if missing %}a{% else %}b{% endif %}", "{% if missing.x %}a{% endif %}",
    "{% for i in items %}{{ i }},{% endfor %}", "{% for i in none_at_all %}x{% else %}none{% endfor %}", "{% for i in missing %}x{% else %}none{% endfor %}",
    "{% for i in nothing %}x{% endfor %}", "{% for i in n %}x{% endfor %}", "{% for c in 'aé三' %}[{{ c }}]{% endfor %}", "{% for k in pairs %}{{ k }}{% endfor %}",
    "{% for k, v in pairs.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in pairs|dictsort %}{{ k }}{{ v }}{% endfor %}", "{% for (a, b) in [(1, 2), [3, 4]] %}{{ a + b }} {% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}x{% endfor %}", "{% for a, b in [1] %}x{% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for i in items %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}",
    "{% for i in items %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {{ loop.previtem is defined }} {% endfor %}", "{% for i in items %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for i in [1, 1, 2, 2, 1] %}{% if loop.changed(i) %}{{ i }}{% endif %}{% endfor %}", "{% for i in [1, 2] %}{% for j in [1, 2] %}{{ loop.index }}{{ loop.depth }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for i in items if i > 1 %}{{ i }}/{{ loop.length }} {% else %}none{% endfor %}", "{% for i in items if i > 9 %}{{ i }}{% else %}none{% endfor %}", "{% for p in people if p.ok is defined and p.ok %}{{ p.name }}{% endfor %}",
    "{% for i in range(10) %}{% if i == 3 %}{% break %}{% endif %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "{% break %}", "{% for i in items %}{% endfor %}{{ i }}",
    "{% for i in items %}{% set last = i %}{% endfor %}{{ last is defined }}", "{% set a = 0 %}{% for i in items %}{% set a = a + i %}{{ a }},{% endfor %}{{ a }}", "{% set ns = namespace(a=0) %}{% for i in items %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}",
    "{% for i in items -%}\n  {{ i }}\n{%- endfor %}", "{% for m in messages %}\n{{ m.role }}: {{ m['content'] }}\n{% endfor %}\nend", "{% for i in 1, 2, 3 %}{{ i }}{% endfor %}", "{% for i in [1, 2] + [3] %}{{ i }}{% endfor %}",
    "{% for i in items recursive %}{{ i }}{% endfor %}" if False else "{% for i in items %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}", "{% for m in messages[1:] %}{{ m.role }}{% endfor %}", "{% for i in items|select('odd') %}{{ loop.index }}{{ loop.last }}{{ i }} {% endfor %}",
    "{% set x = 5 %}{{ x }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a = 1, 2 %}{{ a }}", "{% set a, b = [1] %}", "{% set user = 3 %}{{ user }}", "{% if yes %}{% set q = 1 %}{% endif %}{{ q }}",
    "{% set user.name = 3 %}", "{% set nope.x = 3 %}", "{% set t %}a{{ name }}b{% endset %}[{{ t }}]", "{% set t | upper %}a{{ name }}b{% endset %}{{ t }}", "{% set t | replace('a', 'b') | upper %}aa{% endset %}{{ t }}", "{% set t %}{% set inner = 1 %}{% endset %}{{ inner is defined }}",
    "{% set ns = namespace(a=1, b='x') %}{% set ns.c = ns.a + 1 %}{{ ns.a }}{{ ns.b }}{{ ns.c }}{{ ns.d is defined }}", "{% set ns = namespace() %}{% if yes %}{% set ns.found = true %}{% endif %}{{ ns.found }}", "{% set ns = namespace(list=[]) %}{% for i in items %}{% set ns.list = ns.list + [i * 2] %}{% endfor %}{{ ns.list }}",
    "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "{% with %}{% set z = 1 %}{% endwith %}{{ z is defined }}", "{% set a = 1 %}{% with a = a + 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% macro m(a, b=2) %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=5, a=4) }}{{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}", "{% macro m(a) %}x{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m() %}{{ name }}{{ outer }}{% endmacro %}{% set outer = 1 %}{{ m() }}", "{% macro m(n) %}{% if n > 0 %}{{ n }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
    "{% macro m() %}{% set inside = 1 %}{% endmacro %}{{ m() }}{{ inside is defined }}", "{% macro m(x) -%}\n  {{ x }}\n{%- endmacro %}{{ m('a') }}|{{ m('b')|upper }}", "{{ m is defined }}{% macro m() %}{% endmacro %}{{ m is callable }}{{ m.name }}", "{% macro a() %}A{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}",
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}in{{ name }}{% endcall %}", "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a + b }}{% endcall %}", "{% macro m(x) %}{{ x }}{{ caller is defined }}{% endmacro %}{{ m(1) }}", "{% macro list(items) %}{% for i in items %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(i) list([1, 2]) %}({{ i }}){% endcall %}",
    "{% macro m(a={'x': 1}) %}{{ a.x }}{% endmacro %}{{ m() }}", "{% macro m(a, b) %}{{ b is undefined }}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m(a=1, b) %}{% endmacro %}", "{% for i in items %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% filter upper %}a{{ name }}{% endfilter %}", "{% filter replace('a', 'b')|upper %}banana{% endfilter %}", "{% filter trim %}  x  {% endfilter %}|", "{% generation %}A{{ name }}{% endgeneration %}", "{% generation %}{% set g = 1 %}{% endgeneration %}{{ g is defined }}",
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}\n{% endgeneration %}{% endif %}{% endfor %}", "{% print name, 1 %}", "{{ raise_exception('stop') }}", "{% if n != 8 %}{{ raise_exception('Only 8, not ' ~ n ~ '!') }}{% endif %}", "{% set x = raise_exception('in set') %}",
    "{% nonsense %}", "{% if yes %}", "{% endif %}", "{% for %}{% endfor %}", "{{ }}", "{{ name", "{% if yes", "{{ name }", "{# open", "{% raw %}x", "{{ 'a }}", "{{ a b }}", "{% set 1 = 2 %}", "{% set true = 2 %}", "{% else %}", "{% if yes %}{% endfor %}", "{{ (1, }}", "{{ [1, 2 }}", "{{ a. }}", "{{ a| }}", "{{ a is }}", "{{ 1 $ 2 }}", "{{ f(a=1, 2) }}", "{% for x in %}{% endfor %}", "{% macro %}{% endmacro %}", "{% call name %}{% endcall %}",
    "{% set x = {'a': [1, 2, {'b': 'c'}]} %}{{ x.a[2].b }}", "{{ {'a': {'b': 1}}.a.b }}{{ [1, 2][0] }}", "{%- for m in messages -%}\n    {%- if m['role'] == 'user' -%}\n        {{- '[' + m['content'] + ']' -}}\n    {%- endif -%}\n{%- endfor -%}",
    "{% set content = messages[0]['content'] | trim + '!' %}{{ content }}", "{{ messages | map(attribute='role') | unique | join(',') }}", "{{ '\\n' }}|{{ \"\\t\" }}|{{ '\\\\n' }}", "{% if 'system' in messages[0].values() %}y{% endif %}", "{{ messages[-1].role }}{{ messages[-2:][0].role }}", "{% set m = messages | selectattr('role', 'equalto', 'user') | list %}{{ m[0].content }}{{ m | length }}",
    "{%- set ns = namespace(first=true) -%}{% for m in messages %}{% if ns.first %}F{% set ns.first = false %}{% else %}N{% endif %}{% endfor %}", "{{ messages[0]['content'] if messages[0]['role'] == 'system' else 'none' }}", "{% if messages[0].content is string and messages[0].content is not mapping %}s{% endif %}", "{% for x in [1,2,3] %}{% for y in [1,2,3] %}{% if y == 2 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}",
    "{% set g = items|select('odd') %}{{ g|list }}{{ g|list }}", "{% set v = pairs.items() %}{{ v|list }}{{ v|length }}", "{{ items|select('odd')|first }}{{ 3 in items|select('odd') }}", "{% set a = namespace(x=1) %}{% set b = a %}{% set b.x = 2 %}{{ a.x }}", "{{ namespace(a=1) == namespace(a=1) }}", "{{ [name, n]|map('string')|map('length')|list }}",
    "line1\nline2 {{ 1 + 'a' }}", "{{ lipsum is defined }}" if False else "{{ x.y is defined }}", "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}", "{% for i in [1] %}{% if yes %}{% set k = i %}{% endif %}{{ k }}{% endfor %}{{ k is defined }}", "{% set k = 'o' %}{% for i in [1, 2] %}{{ k }}{% set k = i %}{{ k }}{% endfor %}{{ k }}",
]


def split_at_commas(line):
    """The expressions of a line: commas in brackets and strings do not count."""
    parts, depth, quote = [""], 0, None
    for i, c in enumerate(line):
        if quote:
            quote = None if c == quote and line[i - 1] != "\\" else quote
        elif c in "'\"":
            quote = c
        depth += 0 if quote else (c in "([{") - (c in ")]}")
        if c == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def main():
    sources = [
        "{{ " + expression + " }}" for line in EXPRESSIONS.split("\n") for expression in split_at_commas(line)]
    cases = []
    for source in sources + TEMPLATES:
        case = {"template": source, **outcome(source, VARIABLES)}
        if " at 0x" not in case.get("text", ""):  # an address in memory says nothing
            cases.append(case)
    body = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    print('{"variables":' + json.dumps(VARIABLES) + ',\n"cases":[\n' + body + "\n]}")


main()
