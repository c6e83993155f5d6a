"""I2 at a place on the way: events, held text, state and the end of a copy depend on the prefix, not on its cutting."""

from __future__ import annotations

from fuzz import checks
from fuzz.settings import settings

NATIVE = True
MIN_EDGES = 1700


def one(data: bytes) -> None:
    """`data`: header and completion."""
    s, body = settings(data)
    checks.prefix(s, body, s.cut)
