"""A lossless streaming parser for what Qwen models write: reasoning, answer, tool calls."""

from __future__ import annotations

from . import _core
from ._core import (
    ArgumentDelta,
    ArgumentEnd,
    ArgumentStart,
    ContentDelta,
    Delta,
    DeltaParser,
    Event,
    Issue,
    Markup,
    Parser,
    ReasoningDelta,
    ToolCallEnd,
    ToolCallStart,
    parse,
)
from .errors import FormatError, ParserClosed, QwenParseError, ReplayError, TemplateError
from .formats import Format, Kind, Policy, State, get_format
from .prompt import Prompt, Segment, render_prompt
from .replay import digest, reasoning_digest
from .schema import ToolSet
from .start import open_turn
from .turn import Span, ToolCall, Turn, render

_core.install(ToolSet.of, Turn, open_turn)

__version__ = "0.1.0"
__all__ = [
    "ArgumentDelta", "ArgumentEnd", "ArgumentStart", "ContentDelta", "Delta", "DeltaParser", "Event", "Format",
    "FormatError", "Issue", "Kind", "Markup", "Parser", "ParserClosed", "Policy", "Prompt", "QwenParseError",
    "ReasoningDelta", "ReplayError", "Segment", "Span", "State", "TemplateError", "ToolCall", "ToolCallEnd",
    "ToolCallStart", "ToolSet", "Turn", "digest", "get_format", "open_turn", "parse", "reasoning_digest",
    "render", "render_prompt",
]  # fmt: skip
