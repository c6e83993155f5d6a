"""What the reference answers with an error instead of a result."""

from __future__ import annotations

from ..errors import QwenParseError


class ParseError(QwenParseError, ValueError):
    """A tool call that the reference cannot parse; `str(e)` is exactly its error text.

    The text may hold surrogate escapes (PEP 383) where it quotes bytes that are not UTF-8.
    """


class RenderError(QwenParseError, ValueError):
    """Messages that the reference refuses to render, or an unknown renderer; `str(e)` is exactly its error text."""
