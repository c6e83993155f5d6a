"""A lossless streaming parser for what Qwen models write."""

from __future__ import annotations

from ._core import (
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
from .errors import FormatError, ParserClosed, QwenParseError, ReplayError, TemplateError
from .formats import Format, Policy, get_format

__version__ = "0.1.0"
__all__ = [
    "ArgumentDelta", "ArgumentEnd", "ArgumentStart", "ContentDelta", "Delta", "Event", "Format", "FormatError",
    "Issue", "Markup", "ParserClosed", "Policy", "QwenParseError", "ReasoningDelta", "ReplayError", "TemplateError",
    "ToolCallEnd", "ToolCallStart", "get_format",
]  # fmt: skip
