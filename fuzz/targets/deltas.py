"""I3, I7, I8: deltas add up to the turn, argument pieces to its JSON, under any cutting."""

from __future__ import annotations

from fuzz import checks
from fuzz.settings import settings

NATIVE = True
BYTECODE = ("qwenparse.values",)
MIN_EDGES = 1800


def one(data: bytes) -> None:
    """`data`: header and completion."""
    s, body = settings(data)
    checks.accumulated(s, body, s.cut)
