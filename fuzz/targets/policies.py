"""I9: policies and tools change classification only."""

from __future__ import annotations

from fuzz import checks
from fuzz.settings import settings

NATIVE = True
MIN_EDGES = 1400


def one(data: bytes) -> None:
    """`data`: header and completion."""
    s, body = settings(data)
    checks.policies(s, body)
