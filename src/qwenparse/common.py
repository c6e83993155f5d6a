"""The common beginning of two sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def common_prefix(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many items (code points, bytes, ids) two sequences of one type have in common from the beginning.

    Compares slices, so it runs at the speed of memcmp; linear.
    """
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
