"""The core is what the executable specification says."""

from __future__ import annotations

from fuzz import checks
from fuzz.settings import settings

NATIVE = True
MIN_EDGES = 1400


def one(data: bytes) -> None:
    """`data`: header and completion."""
    s, body = settings(data)
    checks.specification(s, body)
