"""Prompts: any history gives a prompt or a `TemplateError`, never another exception; the messages are left alone.

Segments cover the text without gaps. The robust policy and its twin in Jinja give the same text, or the same refusal.
"""

from __future__ import annotations

import copy
import functools
from importlib.resources import files
from typing import Any

from fuzz.messages import Histories
from qwenparse import TemplateError, render_prompt
from qwenparse._grammar import ByteRandom
from qwenparse.formats import FORMATS

NATIVE = False
BYTECODE = ("qwenparse.templates", "qwenparse.prompt")
MIN_EDGES = 600

RENDERED = [name for name, format in FORMATS.items() if format.renderer]
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"enable_thinking": False},
    {"enable_thinking": True},
    {"preserve_thinking": True},
    {"reasoning_effort": "low"},
    {"add_generation_prompt": False},
)


@functools.cache
def twin() -> str:
    """The robust policy as a template."""
    return files("qwenparse.templates").joinpath("robust.jinja").read_text("utf-8")


def outcome(messages: Any, name: str, **options: Any) -> str | TemplateError:
    """The prompt's text, or the refusal; checks the segments."""
    before = copy.deepcopy(messages)
    try:
        prompt = render_prompt(messages, name, **options)
    except TemplateError as error:
        assert messages == before
        return error
    assert messages == before, "the messages were changed"
    position = 0
    for segment in prompt.segments:
        assert segment.start == position <= segment.end, segment
        position = segment.end
    assert position == len(prompt.text)
    return prompt.text


def one(data: bytes) -> None:
    """`data`: byte 0 the format, byte 1 the options, byte 2 how hostile; the rest drives the generator."""
    a, b, c, _, body = *data[:4].ljust(4, b"\0"), data[4:]
    rng = ByteRandom(body)
    histories = Histories(rng, hostile=(0.0, 0.0, 0.05, 0.3)[c & 3], plain=c & 7 == 4)
    messages, tools = histories.messages(), histories.tools()
    options = OPTIONS[b % len(OPTIONS)]
    if c & 4:
        options = {**options, "robust": True}
    outcome(messages, RENDERED[a % len(RENDERED)], tools=tools, **options)
    if c & 7 == 4:
        mine = outcome(messages, "qwen3.8", tools=tools, **options)
        plain = {k: v for k, v in options.items() if k != "robust"}
        other = outcome(messages, "qwen3.8", tools=tools, template=twin(), **plain)
        assert isinstance(mine, str) == isinstance(other, str), f"{mine!r}\n{other!r}"
        assert str(mine) == str(other), f"{mine!r}\n{other!r}"
