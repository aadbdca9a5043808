"""Writes chats.json: what the Python library jinja2 makes of conversations with the templates in templates/, which
are written in the style of the field's model families. Needs `pip install jinja2`.

    python3 make_chats.py > chats.json

Model files named on the command line (GGUF; needs `pip install gguf`) add their own templates.
"""

import json
import pathlib
import sys

from jinja_env import outcome

TEMPLATES = pathlib.Path(__file__).parent / "templates"
BOS, EOS = "<s>", "</s>"


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content):
    return {"role": "system", "content": content}


WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Tells the weather of a place, now or later.",
    "parameters": {"type": "object", "required": ["place"], "properties": {
        "place": {"type": "string", "description": "Name of the place, as in \"Zürich\""},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "integer", "description": "Days ahead", "default": 0}}}}}
SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Looks things up.",
    "parameters": {"type": "object", "required": ["words"], "properties": {
        "words": {"type": "array", "items": {"type": "string"}}, "limit": {"type": ["integer", "null"]},
        "filter": {"type": "object", "properties": {"site": {"type": "string"}, "safe": {"type": "boolean"}}, "required": ["site"]},
        "scores": {"type": "array", "items": {"type": "number"}}, "nested": {"type": "array", "items": {"type": "object"}}}}}}
NOTHING = {"type": "function", "function": {"name": "ping", "description": "Does nothing.", "parameters": {"type": "object", "properties": {}}}}


def call(name, arguments, id="abcdefghi"):
    return {"type": "function", "id": id, "function": {"name": name, "arguments": arguments}}


TOOL_TALK = [
    user("What is the weather in Zürich?"), assistant("", tool_calls=[call("get_weather", {"place": "Zürich", "days": 1})]),
    {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefghi", "content": "{\"sky\": \"clear\", \"t\": -3.5}"}]

CONVERSATIONS = {
    "hello": {"messages": [user("Hello!")]},
    "system": {"messages": [system("You are a plait.\nBe brief.  "), user("  Who are you?\n")]},
    "turns": {"messages": [user("One?"), assistant("Two."), user("Three?\n\nReally?"), assistant(" Four. ")], "add_generation_prompt": False},
    "longer": {"messages": [system("S"), user("a"), assistant("b"), user("c"), assistant("d"), user("e")]},
    "unicode": {"messages": [user("Grüße, 三股 🧶! \"quoted\" <b>&amp;</b> \\n 'it''s'"), assistant("naïve\ttab"), user("\u200b")]},
    "empty": {"messages": [user("")]},
    "thinking": {"messages": [user("2+2?"), assistant("<think>\nEasy.\n</think>\n\n4"), user("3+3?"), assistant("<think>\nAlso.\n</think>\n\n6")], "add_generation_prompt": False},
    "thinking_off": {"messages": [system("Calm. /no_think"), user("2+2?"), assistant("4", reasoning_content="Easy."), user("5?")], "enable_thinking": False, "thinking": True, "reasoning_effort": "low"},
    "tools": {"messages": [user("What is the weather in Zürich?")], "tools": [WEATHER, SEARCH]},
    "tool_result": {"messages": TOOL_TALK, "tools": [WEATHER]},
    "tool_answer": {"messages": [system("Use tools."), *TOOL_TALK, assistant("Clear, and cold."), user("Thanks")], "tools": [WEATHER, NOTHING]},
    "two_calls": {"messages": [user("Both, please."), assistant("I will.", tool_calls=[call("search", {"words": ["a", "b"]}, "123456789"), call("ping", {})]), {"role": "tool", "tool_call_id": "123456789", "content": "1"}, {"role": "tool", "tool_call_id": "abcdefghi", "content": "2"}], "tools": [SEARCH, NOTHING]},
    "documents": {"messages": [user("Who wrote it?")], "documents": [{"text": "Ada wrote it."}, {"text": "In 1843."}], "controls": {"citations": True, "length": "short"}},
    "parts": {"messages": [user([{"type": "text", "text": "Look: "}, {"type": "image"}, {"type": "text", "text": " and say. "}])]},
    "parts_everywhere": {"messages": [system([{"type": "text", "text": "See."}]), user([{"type": "image"}, {"type": "text", "text": "x"}]), assistant([{"type": "text", "text": "I see"}]), user([{"type": "image"}, {"type": "video"}])]},
    "two_users": {"messages": [user("a"), user("b")]},
    "assistant_first": {"messages": [assistant("Hi."), user("b")]},
    "odd_role": {"messages": [user("a"), {"role": "critic", "content": "hm"}]},
    "tool_alone": {"messages": [user("a"), {"role": "tool", "content": "b", "tool_call_id": "x"}]},
    "none_content": {"messages": [user("a"), assistant(None, tool_calls=[call("ping", {})]), user("b")]},
    "nothing": {"messages": []},
}


def sources():
    for path in sorted(TEMPLATES.glob("*.jinja")):
        yield path.stem, path.read_text()
    for path in sys.argv[1:]:
        from gguf import GGUFReader

        field = GGUFReader(path).fields.get("tokenizer.chat_template")
        if field is not None:
            yield pathlib.Path(path).name, field.contents()


def main():
    lines = []
    for name, source in sources():
        for title, conversation in CONVERSATIONS.items():
            variables = {"tools": None, "documents": None, "add_generation_prompt": True, "bos_token": BOS, "eos_token": EOS, **conversation}
            lines.append(json.dumps({"template": name, "conversation": title, **outcome(source, variables)}))
    texts = {name: source for name, source in sources() if not (TEMPLATES / f"{name}.jinja").exists()}
    print('{"bos":' + json.dumps(BOS) + ',"eos":' + json.dumps(EOS) + ',\n"templates":' + json.dumps(texts) + ',\n"conversations":{')
    print(",\n".join(f"{json.dumps(title)}:{json.dumps(c)}" for title, c in CONVERSATIONS.items()))
    print('},\n"cases":[\n' + ",\n".join(lines) + "\n]}")


main()
