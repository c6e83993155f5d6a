"""Stores of turns: what a client sends back is matched to what the model wrote.

`MemoryStore` for one process, `SQLiteStore` for one machine, `RedisStore` (extra `store`) for several. All hold turns
at rest, thoughts included, in a bounded number of bytes; the least recently used go first. Nothing of a turn is logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import TurnStore
from .memory import MemoryStore
from .sqlite import SQLiteStore

if TYPE_CHECKING:
    from .redis import RedisStore as RedisStore

__all__ = ["MemoryStore", "RedisStore", "SQLiteStore", "TurnStore"]


def __getattr__(name: str) -> Any:
    if name == "RedisStore":  # needs the redis package
        from .redis import RedisStore

        return RedisStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
