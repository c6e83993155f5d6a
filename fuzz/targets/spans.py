"""I1, I4: positions have no gaps, nothing is held at the end, the turn renders back to the input, bytes and all."""

from __future__ import annotations

from fuzz import checks
from fuzz.settings import settings

NATIVE = True
MIN_EDGES = 1500


def one(data: bytes) -> None:
    """`data`: header and completion."""
    s, body = settings(data)
    checks.joined(s, body)
    checks.typed(checks.rendered(s, body))
