"""The `think` option of Ollama's API (`api/types.go`, `ThinkValue`)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from ..errors import FormatError

Think: TypeAlias = bool | Literal["low", "medium", "high", "max"] | None

_LEVELS = ("high", "medium", "low", "max")
_ALLOWED = '"high", "medium", "low", "max", true, or false'


def check_think(think: Any) -> bool | None:
    """Whether thinking is on (True or a level), off, or unset (None). Raises `FormatError` with Go's text."""
    if think is None or isinstance(think, bool):
        return think
    if not isinstance(think, str):
        raise FormatError(f'think must be a boolean or string ({_ALLOWED})')
    if think not in _LEVELS:
        raise FormatError(f'invalid think value: "{think}" (must be {_ALLOWED})')
    return True
