"""I1, I4, I5: one feed; the events join to the input, or (a bit of the cut byte) the turn renders back to it."""

from __future__ import annotations

from fuzz import checks
from fuzz.settings import settings

NATIVE = True
MIN_EDGES = 1


def one(data: bytes) -> None:
    """`data`: header and completion."""
    s, body = settings(data)
    if s.cut & 1:
        checks.rendered(s, body)
    else:
        checks.joined(s, body)
