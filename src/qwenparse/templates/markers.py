"""`<|think_on|>` and `<|think_off|>` in message text: found, removed, and their places reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .pieces import Framed

THINK_ON = "<|think_on|>"
THINK_OFF = "<|think_off|>"


class Removal(NamedTuple):
    """A marker that was taken out: `offset` is where it began in the text as it came, in code points."""

    marker: str
    offset: int


def last_marker(text: str) -> bool | None:
    """What the last marker written in `text` asks for; None if there is none."""
    on, off = text.rfind(THINK_ON), text.rfind(THINK_OFF)
    return None if on == off else on > off


def remove_markers(text: str) -> tuple[str, Sequence[Removal]]:
    """`text` without markers, those that form through a removal included. Linear, frames kept.

    No marker's end is another's beginning, so the order of removal does not change what is left.
    """
    if "<|think_" not in text:
        return text, ()
    kept: list[str] = []
    origin: list[int] = []
    removed: list[Removal] = []
    for at, character in enumerate(text):
        kept.append(character)
        origin.append(at)
        if character == ">":
            found = next((m for m in (THINK_ON, THINK_OFF) if _ends_with(kept, m)), None)
            if found is not None:
                removed.append(Removal(found, origin[-len(found)]))
                del kept[-len(found) :], origin[-len(found) :]
    if not removed:
        return text, ()
    rest = "".join(kept)
    if isinstance(text, Framed):
        place = {at: index for index, at in enumerate(origin)}
        return Framed(rest, [(place[start], place[end - 1] + 1) for start, end in text.frames]), removed
    return rest, removed


def _ends_with(kept: list[str], marker: str) -> bool:
    return len(kept) >= len(marker) and "".join(kept[-len(marker) :]) == marker
