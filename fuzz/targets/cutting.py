"""I2: any cutting, of text or bytes, gives the events of the whole."""

from __future__ import annotations

from fuzz import checks
from fuzz.settings import settings

NATIVE = True
MIN_EDGES = 1500


def one(data: bytes) -> None:
    """`data`: header and completion."""
    s, body = settings(data)
    checks.cut(s, body, s.cut)
