"""Formats, policies and the one list of region kinds, as data.

Source of the table: the published chat templates of each model family (docs/format.md, start states).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Literal, get_args, get_type_hints

from .errors import FormatError

Dialect = Literal["xml", "json"]
Start = Literal["reasoning", "content", "auto"]
Stop = Literal["im_end", "other_stop", "none"]

Kind = Literal[
    "think_open", "think_body", "think_close", "late_think_close", "ws", "content",
    "call_open", "fn_open", "name", "fn_open_end", "param_open", "key", "param_open_end",
    "value_lead_nl", "value", "value_trail_nl", "param_close", "fn_close", "call_close",
    "json_open", "json_name", "json_args", "json_close",
    "junk", "stray", "stop", "trailing",
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(Kind)
"""The kinds of a region of a turn, in the order of the core's codes. `Markup.kind` and `Span.kind` use them."""

IM_START = "<|im_start|>"
IM_END = "<|im_end|>"
ENDOFTEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Format:
    """How one family writes: the dialect expected of a call and the state a completion starts in."""

    name: str
    dialect: Dialect
    start: Start
    renderer: bool


@dataclass(frozen=True)
class Policy:
    """Named choices of what is a tag. They never decide which characters are kept.

    Raises `FormatError` for a value that a field does not have.
    """

    call_in_reasoning: Literal["line", "always", "never"] = "line"
    bare_function: Literal["declared", "never"] = "declared"
    fenced_call: Literal["text", "call"] = "text"
    stray_think_close: Literal["keep", "drop"] = "keep"
    truncated_call: Literal["incomplete", "closed"] = "incomplete"
    argument_end: Literal["lookahead", "first"] = "lookahead"
    unknown_tool: Literal["call", "text"] = "call"

    def __post_init__(self) -> None:
        for f in fields(self):
            value, allowed = getattr(self, f.name), POLICY_VALUES[f.name]
            if value not in allowed:
                raise FormatError(f"policy {f.name}={value!r}: it takes {', '.join(map(repr, allowed))}")


POLICY_VALUES: dict[str, tuple[str, ...]] = {k: get_args(v) for k, v in get_type_hints(Policy).items()}

FORMATS: dict[str, Format] = {
    name: Format(name, dialect, start, renderer)  # type: ignore[arg-type]
    for name, dialect, start, renderer in (
        ("qwen2.5", "json", "content", False),
        ("qwq", "json", "reasoning", False),
        ("qwen3", "json", "auto", True),
        ("qwen3-2504", "json", "auto", True),
        ("qwen3-thinking-2507", "json", "reasoning", False),
        ("qwen3-instruct-2507", "json", "content", True),
        ("qwen3-vl", "json", "content", True),
        ("qwen3-vl-thinking", "json", "reasoning", False),
        ("qwen3-coder", "xml", "content", True),
        ("qwen3-coder-llamacpp", "xml", "content", True),
        ("qwen3.5", "xml", "reasoning", True),
        ("qwen3.5-small", "xml", "content", True),
        ("qwen3.6", "xml", "reasoning", True),
        ("qwen3.6-unsloth", "xml", "reasoning", True),
        ("qwen3.8", "xml", "reasoning", True),
    )
}


def get_format(name: str | Format) -> Format:
    """The format of that name. Raises `FormatError` for any other name."""
    if isinstance(name, Format):
        return name
    try:
        return FORMATS[name]
    except (KeyError, TypeError):
        raise FormatError(f"unknown format {name!r}; the formats are {', '.join(FORMATS)}") from None

ISSUE_CODES: tuple[str, ...] = (
    "aliased-arguments", "broken-json", "broken-utf8", "call-in-reasoning", "cut-call", "cut-tag",
    "duplicate-parameter", "foreign-dialect", "fused-parameter", "late-think-close", "malformed-close",
    "malformed-parameter", "missing-arguments", "missing-function-close", "missing-parameter-close",
    "missing-tool-call-close", "missing-tool-call-open", "nameless-parameter", "quoted-name", "repeated-think-open",
    "several-calls-in-block", "stray-close", "stray-think-close", "type-mismatch", "unclosed-parameter-tag",
    "unclosed-think", "undeclared-parameter", "undeclared-tool", "unexpected-think-open", "unknown-token",
    "window-exceeded",
)  # fmt: skip
"""Every issue code; docs/format.md says when each is raised."""

UNCLEAN: frozenset[str] = frozenset({
    "broken-json", "broken-utf8", "call-in-reasoning", "cut-call", "duplicate-parameter", "fused-parameter",
    "malformed-parameter", "missing-arguments", "missing-parameter-close", "nameless-parameter", "stray-close",
    "type-mismatch", "unclosed-parameter-tag", "undeclared-parameter", "undeclared-tool", "unknown-token",
})  # fmt: skip
"""The codes that make running a call a guess: `ToolCall.clean` is False."""

TAGS: tuple[str, ...] = (
    "<think>", "</think>", "<tool_call>", "</tool_call>",
    "<function=", "</function>", "<parameter=", "</parameter",
)  # fmt: skip
"""Every tag, once, in the order of the core's codes. Behind `<function=` and `<parameter=` comes a name and `>`,
behind `</parameter` comes `>` or a short variant of it."""

ID_TAGS: tuple[str, ...] = TAGS[:4]
"""The tags that a vocabulary may hold as single tokens."""

WINDOW = 1024
"""Code points of the longest whitespace run that any rule looks across."""
NAME_LIMIT = 256
"""Code points of a name, as written."""
VARIANT_LIMIT = 32
"""Code points between `</parameter` and `>` in a variant of that tag."""


class State(IntEnum):
    """Where a parser stands; `Parser.state`."""

    START = 0
    """Nothing but whitespace so far; a `<think>` would still open reasoning."""
    REASONING = 1
    CONTENT = 2
    CALL = 3
    """In a call's wrapper, outside a function block."""
    FUNCTION = 4
    """In a function block, between parameters."""
    VALUE = 5
    ARGUMENTS = 6
    """In the object of a JSON call."""
    BROKEN = 7
    """Behind a fault in a JSON call, before its wrapper ends."""
    CLOSED = 8
