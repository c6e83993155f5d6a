"""Inputs made of the lexemes that mean something: every short sequence, and random ones with a printed seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from qwenparse import Policy
from qwenparse.formats import POLICY_VALUES


def _tool(name: str, **properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": type_} for key, type_ in properties.items()}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [_tool("sh", cmd="string"), _tool("read", path="string", n="integer")]
TOOL_CHOICES: list[Any] = [None, [], TOOLS]
FORMATS = ("qwen3.5", "qwen3")
STARTS = ("reasoning", "content", "auto")
STOPS = ("none", "im_end", "other_stop")

SHORT = (
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<function=sh>", "</function>", "<parameter=cmd>",
    "</parameter>", "\n", " ", "x", '{"name": "sh", "arguments": {"cmd": "a"}}',
)  # fmt: skip
"""Lexemes for the exhaustive test."""

LONG = (
    *SHORT, "<function=zz>", "<function=", "<function=\"sh\">", "<function=a b>", "<function=sh", "<parameter=n>",
    "<parameter=path>", "<parameter=zz>", "<parameter=cmd", "<parameter=cmd=", "<parameter=", "<parameter='cmd'>",
    "<parameter=a b>", "</parameter/>", "</parameter_x>", "</parameter", "</param", "</func", "</tool", "<tool", "<",
    ">", "\n\n", "\n\n\n", "\t", "\r\n", "```\n", "```", "~~~\n", "    ", "a", "é", "世", "😀", "{", "}", '"', "\\",
    '{"name": "sh"', '{"name": "sh", "arguments": {"cmd": "', '{"arguments": {"cmd": 1}, "name": "read"}',
    '{"name": "sh", "parameters": {}}', '{"name": "sh", "arguments": null}', ', "arguments": ', ', "name": "rm"',
    '"arguments": "{\\"cmd\\": 1}"', '{"cmd": "ls",}', '{"id": 1, ', '{"name": 5}', '{"type": "function"}', "[1]",
    '"\\u12', "True", "ls -l", "<thinking>", "<|im_end|>", "\x00", "\v", " " * 40, "=", ":", "&amp;", "`",
)  # fmt: skip

CALL = "<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"
JSON_CALL = '<tool_call>\n{"name": "sh", "arguments": {"cmd": "ls"}}\n</tool_call>'
TEMPLATES = (
    "Plan.\n</think>\n\nI look.\n\n" + CALL,
    "<think>\nPlan.\n</think>\n\n" + CALL + "\n" + CALL,
    "I look.\n" + JSON_CALL + "\n" + JSON_CALL + "\nDone.",
    "Plan.\n" + CALL + "\n</think>\n\nOk.",
    "```xml\n" + CALL + "\n```\n" + CALL,
    CALL.replace("ls", "a\n</function>\n</tool_call>\nb</parameter> c\n<parameter=zz>\n1"),
    "<tool_call>\n<function=read>\n<parameter=path>\na\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>\n</tool_call>",
    '<tool_call>\n{"arguments": "{\\"a\\": 1}", "name": "sh"}\n{"name": "read", "arguments": {"n": 1}\n</tool_call>',
)


def sequences(length: int) -> Iterator[str]:
    """Every sequence of exactly `length` short lexemes."""
    return map("".join, itertools.product(SHORT, repeat=length))


def policies(rng: random.Random) -> Policy:
    if rng.random() < 0.5:
        return Policy()
    return Policy(**{k: rng.choice(v) for k, v in POLICY_VALUES.items()})  # type: ignore[arg-type]


def text(rng: random.Random) -> str:
    """Soup, or a near-valid turn with a few wounds."""
    if rng.random() < 0.4:
        return "".join(rng.choice(LONG) for _ in range(rng.randint(1, 14)))
    t = rng.choice(TEMPLATES)
    for _ in range(rng.randint(0, 4)):
        i = rng.randint(0, len(t))
        what = rng.random()
        if what < 0.35:
            t = t[:i] + rng.choice(LONG) + t[i:]
        elif what < 0.7:
            t = t[:i] + t[i + rng.choice((1, 1, 1, 2, 5, 12)) :]
        elif what < 0.8:
            j = rng.randint(0, len(t))
            t = t[: min(i, j)] + t[max(i, j) :]
        elif what < 0.9:
            t = t[:i] + rng.choice((" ", "\n")) * rng.choice((1, 2, 30, 1023, 1024, 1025, 1026)) + t[i:]
        else:
            t = t[:i]
    return t


def settings(rng: random.Random) -> dict[str, Any]:
    return {
        "format": rng.choice(FORMATS),
        "tools": rng.choice(TOOL_CHOICES),
        "start": rng.choice(STARTS),
        "policy": policies(rng),
        "max_held": rng.choice((1 << 20, 1 << 20, 1 << 20, rng.randint(1, 90))),
    }


def pieces(rng: random.Random, data: Any) -> list[Any]:
    """A cutting: of a str or of bytes."""
    size = rng.choice((1, 2, 3, 4, 8, 30))
    out, i = [], 0
    while i < len(data):
        k = rng.randint(1, size)
        out.append(data[i : i + k])
        i += k
    return out
