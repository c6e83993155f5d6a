"""A prompt under construction: pieces of text that know whether the template or a message wrote them.

`Pieces.text` alternates: even places hold what the template writes (frames), odd places what came from messages (data);
a place may be empty. So the kind of a piece costs nothing to note, and the text is one join.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .texts import ASSISTANT

SegmentKind = Literal["head", "frame", "data", "gen_prefix", "raw", "close"]
Pad = Literal["images", "videos"]
Keep = Literal["keep", "drop", "keep_nonempty"]
"""What the template does with the think block of a turn at this place; `keep_nonempty` drops an empty block only."""


class Part(NamedTuple):
    """One piece of a spliced turn."""

    kind: SegmentKind
    text: str
    turn: str | None = None
    ids: Sequence[int] | None = None
    """The sampled ids of the beginning of a raw turn, as far as `ids_end`, where they are known."""
    ids_end: int = 0
    stop: int = 0
    """Where the stop text of a raw turn begins, and whatever the model wrote is over; its length if there is none."""


class Known(NamedTuple):
    """What is known of a raw turn's tokens."""

    ids: Sequence[int]
    """The sampled ids of its beginning; none if the turn was read as text."""
    ids_end: int
    stop: int


Places = Callable[[], Sequence[int]]
"""Positions of message text in a template's output, ascending; asked for once they are needed."""


Splice = Callable[[int, Keep], "Sequence[Part] | None"]
"""Asked for every assistant message with its index: the parts that stand in its place, or None for the template's
own rendering. `()` writes nothing (a later message of a group that one turn stands for). The parts are everything from
`<|im_start|>assistant` to the newline behind the closing token."""


class Segment(NamedTuple):
    """`text[start:end]` of a prompt, in code points.

    `kind`: `head` and `frame` were written by the template (`head` in the system block), `data` came from messages
    (bodies, tool definitions, arguments), `gen_prefix` is what the prompt gives a turn behind
    `<|im_start|>assistant\\n`, `raw` a turn as generated, `close` the closing token the prompt adds to it. `turn` is
    the digest of the turn that `raw`, `close` and the `gen_prefix` before it belong to.
    """

    start: int
    end: int
    kind: SegmentKind
    turn: str | None = None


@dataclass(frozen=True)
class Note:
    """Something a renderer changed, left out or found missing. `message` is an index, `offset` code points into it."""

    code: str
    text: str
    message: int | None = None
    offset: int | None = None


class Framed(str):
    """Message text in which the template wrote parts (vision pads): `frames` are their places."""

    __slots__ = ("frames",)
    frames: tuple[tuple[int, int], ...]

    def __new__(cls, text: str, frames: Iterable[tuple[int, int]]) -> Framed:
        self = super().__new__(cls, text)
        self.frames = tuple(frames)
        return self


def cut(text: str, start: int, end: int) -> str:
    """`text[start:end]`, with the frames inside kept. No frame may lie across `start` or `end`."""
    if isinstance(text, Framed):
        frames = [(s - start, e - start) for s, e in text.frames if start <= s and e <= end]
        if frames:
            return Framed(text[start:end], frames)
    return text[start:end]


class Pieces:
    """The growing prompt. `marks[k]` is the place where the k-th rendered message begins."""

    __slots__ = ("guards", "has_query", "head_end", "images", "known", "marks", "notes", "open", "special", "text",
                 "thinking", "videos")  # fmt: skip

    def __init__(self) -> None:
        self.text: list[str] = []
        self.marks: list[int] = []
        self.special: dict[int, tuple[SegmentKind, str | None]] = {}
        self.known: dict[int, Known] = {}
        """Place of a raw turn -> what is known of its tokens."""
        self.guards: list[tuple[Places, dict[int, int]]] = []
        """For pieces of a text that a template file wrote: which characters of it are message text, and place ->
        where the piece begins in it."""
        self.notes: list[Note] = []
        self.head_end = 0
        self.images = 0
        self.videos = 0
        self.has_query = True
        self.thinking: bool | None = None
        """Whether thinking is on, where messages may change it; None where only arguments decide."""
        self.open: int | None = None
        """The place where the gen_prefix of the open turn begins; None while no turn is open."""

    def put(self, frame: str, data: str) -> None:
        """Appends a frame and the data behind it."""
        if type(data) is Framed:
            at = 0
            for start, end in data.frames:
                self.text += (frame, data[at:start])
                frame, at = data[start:end], end
            data = data[at:]
        self.text += (frame, data)

    def add(self, kind: SegmentKind, text: str, turn: str | None = None) -> None:
        """Appends a piece of any kind."""
        if kind == "data":
            self.text += ("", text)
        else:
            if kind != "frame":
                self.special[len(self.text)] = (kind, turn)
            self.text += (text, "")

    def splice(self, parts: Iterable[Part]) -> None:
        """Appends a turn as generated, in place of a message."""
        for part in parts:
            if part.kind == "raw":
                self.known[len(self.text)] = Known(part.ids or (), part.ids_end, part.stop)
            self.add(part.kind, part.text, part.turn)

    def count(self, pad: Pad) -> int:
        """Counts one pad more; its number."""
        if pad == "images":
            self.images += 1
            return self.images
        self.videos += 1
        return self.videos

    def begin_turn(self) -> None:
        """Writes the header of the open turn; what follows is its gen_prefix."""
        self.text += (ASSISTANT, "")
        self.open = len(self.text)

    def join(self) -> str:
        return "".join(self.text)

    def take_tail(self, other: Pieces) -> None:
        """Appends what stands in `other` behind its first frame."""
        shift = len(self.text) - 2
        self.special.update((k + shift, kind) for k, kind in other.special.items() if k >= 2)
        self.guards += [(ask, {k + shift: at for k, at in by.items() if k >= 2}) for ask, by in other.guards]
        self.open = None if other.open is None else other.open + shift
        self.text += other.text[2:]

    def copy(self) -> Pieces:
        """An independent copy."""
        other = Pieces()
        for name in self.__slots__:
            value = getattr(self, name)
            setattr(other, name, value.copy() if isinstance(value, (list, dict)) else value)
        return other

    def guard(self, ask: Places, start: int, at: int) -> None:
        """Notes that the pieces from place `start` on are the text at position `at` of what a template file wrote."""
        places = {}
        for place in range(start, len(self.text)):
            places[place] = at
            at += len(self.text[place])
        self.guards.append((ask, places))

    def known_turns(self) -> dict[int, Known]:
        """Where a raw turn begins in the text -> what is known of its tokens."""
        if not self.known:
            return {}
        found: dict[int, Known] = {}
        at = 0
        for place, text in enumerate(self.text):
            if place in self.known:
                found[at] = self.known[place]
            at += len(text)
        return found

    def _message_text(self) -> dict[int, list[int]]:
        """Place of a piece -> positions in it that are message text."""
        found: dict[int, list[int]] = {}
        for ask, places in self.guards:
            positions = ask()
            for place, at in places.items() if positions else ():
                low, high = bisect_left(positions, at), bisect_left(positions, at + len(self.text[place]))
                if low < high:
                    found[place] = [position - at for position in positions[low:high]]
        return found

    def cut_open(self, length: int) -> None:
        """Shortens the text to `length` code points. The last message becomes the open turn if it is an assistant's."""
        last = self.marks[-1] if self.marks else len(self.text)
        for place, text in enumerate(self.text):
            if length <= len(text):
                del self.text[place + 1 :]
                self.text[place] = text[:length]
                break
            length -= len(text)
        if len(self.text) % 2:
            self.text.append("")
        if last < len(self.text) and self.text[last].startswith(ASSISTANT):
            rest = [self.text[last][len(ASSISTANT) :], *self.text[last + 1 :]]
            del self.text[last:]
            self.begin_turn()
            for place, text in enumerate(rest):
                self.add("data" if place & 1 else "gen_prefix", text)

    def segments(self) -> tuple[Segment, ...]:
        """The pieces with their places in the text; neighbours of one kind are one segment, empty pieces are none."""
        found: list[Segment] = []
        begin = end = 0
        before: tuple[SegmentKind, str | None] | None = None
        data = self._message_text()
        for place, text in enumerate(self.text):
            if not text:
                continue
            usual: SegmentKind = "data" if place & 1 else "head" if place < self.head_end else "frame"
            whole = self.special.get(place, (usual, None))
            for kind, length in ((whole, len(text)),) if place not in data else _cut(whole, len(text), data[place]):
                if kind != before:
                    if before is not None:
                        found.append(Segment(begin, end, *before))
                    begin, before = end, kind
                end += length
        if before is not None:
            found.append(Segment(begin, end, *before))
        return tuple(found)


def _cut(
    kind: tuple[SegmentKind, str | None], length: int, positions: Sequence[int]
) -> Iterator[tuple[tuple[SegmentKind, str | None], int]]:
    """A piece cut at single characters of message text: (kind, length) of each part."""
    at = 0
    for position in positions:
        if position > at:
            yield kind, position - at
        yield ("data", None), 1
        at = position + 1
    if at < length:
        yield kind, length - at
