"""Reference-compatible mode: what Ollama's Qwen parsers and renderers do, chunk for chunk.

The reference is Ollama commit fb3076099 (2026-08-21) built with go1.26.0. Its losses and its dependence on how the
text is cut are the contract here; the lossless parser shares none of them.
"""

from __future__ import annotations

from . import qwen3, qwen3coder, qwen3vl, qwen35  # noqa: F401  (they register their names)
from .errors import ParseError, RenderError
from .render import RENDERERS, render
from .replay import Replay, replay
from .result import AddResult, ToolCall
from .stream import Parser
from .thinking import ThinkingParser

__all__ = [
    "RENDERERS", "AddResult", "ParseError", "Parser", "RenderError", "Replay", "ThinkingParser", "ToolCall", "render",
    "replay",
]  # fmt: skip
