"""How the first bytes of an input choose parser settings and cuts, so that one corpus serves every target.

Byte 0: format and start state. Byte 1: tools, and `max_held`. Byte 2: policy. Byte 3: how the turn ends, and the way of
cutting. Four zero bytes are the defaults: format `qwen3.5`, its start state, tools unknown, default policy, `im_end`, cut by
characters.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from qwenparse import Policy, ToolSet
from qwenparse.formats import POLICY_VALUES
from qwenparse.values.literals import MAX_HELD

HEADER = 4


def _tool(name: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": parameters}}}


_RICH: list[dict[str, Any]] = [
    _tool("sh", cmd={"type": "string"}, timeout={"type": "number"}),
    _tool(
        "read",
        path={"type": "string"},
        n={"type": "integer"},
        ids={"type": "array", "items": {"type": "integer"}},
        opts={"$ref": "#/$defs/opts"},
        ok={"type": "boolean"},
        maybe={"anyOf": [{"type": "integer"}, {"type": "null"}]},
    ),
    {
        "name": "edit",
        "input_schema": {"type": "object", "properties": {"path": {"type": ["string", "null"]}, "text": {}}},
    },
    {"name": "ping", "parameters": {"type": "object"}},
    _tool("get-weather", city={"enum": ["a", "b"]}, x={"type": ["integer", "string"]}),
]
_RICH[1]["function"]["parameters"]["$defs"] = {"opts": {"type": "object"}}
TOOLS: tuple[list[dict[str, Any]] | None, ...] = (None, _RICH, [_tool("sh", cmd={"type": "string"})], [])
TOOLSETS = tuple(ToolSet.of(tools) for tools in TOOLS)

STARTS: tuple[tuple[str, Literal["reasoning", "content", "auto"] | None], ...] = (
    ("qwen3.5", None),
    ("qwen3-coder", None),
    ("qwen3", None),
    ("qwen3.5", "content"),
    ("qwen3.5", "auto"),
    ("qwen2.5", None),
    ("qwen3", "reasoning"),
    ("qwq", None),
)
STOPS: tuple[Literal["im_end", "other_stop", "none"], ...] = ("im_end", "none", "other_stop", "none")

# One bit for each alternative of each policy; the first value of a field is its default.
ALTERNATIVES = tuple((field, value) for field, values in POLICY_VALUES.items() for value in values[1:])


def _policy(byte: int) -> Policy:
    chosen: dict[str, Any] = {}
    for bit, (field, value) in enumerate(ALTERNATIVES):
        if byte >> bit & 1:
            chosen[field] = value
    return Policy(**chosen)


POLICIES = tuple(_policy(byte) for byte in range(256))


class Settings(NamedTuple):
    """What a header says."""

    format: str
    start: Literal["reasoning", "content", "auto"] | None
    tools: int
    policy: Policy
    stop: Literal["im_end", "other_stop", "none"]
    cut: int
    max_held: int

    @property
    def options(self) -> dict[str, Any]:
        """What parser and specification take alike."""
        return {"start": self.start, "policy": self.policy, "max_held": self.max_held}


_KNOWN: dict[bytes, Settings] = {}


def settings(data: bytes) -> tuple[Settings, bytes]:
    """The settings in front of an input, and the completion behind them. Short inputs are filled with zeros."""
    head = data[:HEADER]
    known = _KNOWN.get(head)
    if known is None:
        a, b, c, d = head.ljust(HEADER, b"\0")
        format, start = STARTS[a % len(STARTS)]
        max_held = (b >> 2) - 31 if b > 127 else MAX_HELD
        known = Settings(format, start, b % len(TOOLS), POLICIES[c], STOPS[d & 3], d >> 2, max_held)
        if len(_KNOWN) < 1 << 16:
            _KNOWN[head] = known
    return known, data[HEADER:]
