"""A lossless streaming parser for what Qwen models write: reasoning, answer, tool calls."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import DeltaParser, Parser, parse
from ._events import (
    AnyEvent,
    ArgumentDelta,
    ArgumentEnd,
    ArgumentStart,
    ContentDelta,
    Delta,
    Event,
    Issue,
    Markup,
    ReasoningDelta,
    ToolCallEnd,
    ToolCallStart,
)
from .errors import FormatError, ParserClosed, QwenParseError, ReplayError, TemplateError, TokenIdsError
from .formats import Format, Kind, Policy, State, get_format
from .schema import ToolSet
from .start import open_turn
from .turn import Span, ToolCall, Turn, render

if TYPE_CHECKING:
    from .drift.comparison import explain
    from .drift.report import Drift
    from .prompt import Prompt, Segment, render_prompt
    from .replay.digest import digest, reasoning_digest

_core.install(ToolSet.of, Turn, open_turn)

_LATER = {
    "Drift": "drift",
    "Prompt": "prompt",
    "Segment": "prompt",
    "digest": "replay",
    "explain": "drift",
    "reasoning_digest": "replay",
    "render_prompt": "prompt",
}
"""Public names whose modules are imported when they are first used: a server that only parses never loads them."""


_ROOMS = frozenset({"adapters", "drift", "lint", "ollama", "store", "templates", "testing", "tokens", "values"})
"""Packages that `qwenparse.NAME` reaches without an import of their own."""


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_ROOMS})


__version__ = "0.1.0"
__all__ = [
    "AnyEvent", "ArgumentDelta", "ArgumentEnd", "ArgumentStart", "ContentDelta", "Delta", "DeltaParser", "Drift", "Event",
    "Format", "FormatError", "Issue", "Kind", "Markup", "Parser", "ParserClosed", "Policy", "Prompt", "QwenParseError",
    "ReasoningDelta", "ReplayError", "Segment", "Span", "State", "TemplateError", "TokenIdsError", "ToolCall", "ToolCallEnd",
    "ToolCallStart", "ToolSet", "Turn", "digest", "explain", "get_format", "open_turn", "parse", "reasoning_digest", "render",
    "render_prompt",
]  # fmt: skip
