"""The Jinja environment that the field renders chat templates with, as the transformers library documents it."""

import datetime
import json

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2025, 3, 9, 14, 5, 7)  # local time; also in the tests that read what is written here


class Generation(Extension):
    """{% generation %} marks what the model says; when text is rendered it is a block like any other."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def outcome(source, variables):
    """{"text": ...}, or {"raises": "its own words"} for raise_exception, or {"fails": "kind of error"}."""
    try:
        return {"text": environment().from_string(source).render(**variables)}
    except jinja2.exceptions.TemplateError as error:
        if type(error) is jinja2.exceptions.TemplateError:
            return {"raises": str(error)}
        return {"fails": type(error).__name__}
    except Exception as error:  # Python's own: TypeError, ZeroDivisionError, ...
        return {"fails": type(error).__name__}
