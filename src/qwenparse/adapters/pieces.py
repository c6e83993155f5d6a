"""The one place where deltas become what APIs send: clean text, and per call a name once and pieces of JSON.

Works over `DeltaParser` and `ollama.Parser`. An adapter supplies only its shapes (`Stream` and its four hooks).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias

from .._events import ArgumentDelta, ArgumentEnd, ArgumentStart, Delta, Event, ToolCallEnd, ToolCallStart
from ..formats import Stop
from ..utf8 import to_bytes
from ..values import ArgumentsJSON

Data: TypeAlias = "str | bytes | bytearray | memoryview | Sequence[int] | int"
Dumps: TypeAlias = Callable[[Any], "str | bytes"]

ENDED: Final = frozenset({
    "stop", "eos", "eos_token", "end_turn", "tool_calls", "tool_use", "function_call", "completed",
})  # fmt: skip
"""Finish reasons of engines that say: the model ended its turn. Any other is a cut."""

_LONE: Final = re.compile("[\ud800-\udfff]")
_NO_BYTE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")


class DeltaSource(Protocol):
    """What `DeltaParser` and `ollama.Parser` share."""

    def feed(self, data: Any, /) -> Delta | None: ...
    def close(self, *, stop: Stop = "none") -> Delta | None: ...


def compact(value: Any) -> str:
    """The default encoder: JSON without blanks, non-ASCII as itself."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def replaced(text: str) -> str:
    """`text` with U+FFFD for each lone surrogate, so that it can be encoded."""
    return text if text.isascii() else _LONE.sub("�", text)


class Joiner:
    """Makes pieces of text encodable: U+FFFD for each byte that was no UTF-8, as Go and WHATWG decoders show it.

    A character whose bytes lie in two pieces, each surrogate-escaped (the Ollama mode reports chunks that end inside a
    character so), becomes that character.
    """

    __slots__ = ("_decoder", "open")

    def __init__(self) -> None:
        self._decoder: codecs.IncrementalDecoder | None = None
        self.open = False
        """Bytes of an unfinished character wait: even ASCII text must go through `feed`."""

    def feed(self, text: str) -> str:
        decoder = self._decoder
        if decoder is None:
            if text.isascii():
                return text
            try:
                text.encode()
                return text
            except UnicodeEncodeError:
                decoder = self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        out = decoder.decode(to_bytes(_NO_BYTE.sub("�", text)))
        self.open = bool(decoder.getstate()[0])
        if not self.open:
            self._decoder = None
        return replaced(out)

    def close(self) -> str:
        """What an unfinished character leaves."""
        decoder = self._decoder
        self._decoder = None
        self.open = False
        return "" if decoder is None else replaced(decoder.decode(b"", True))


def joined(text: str) -> str:
    """A whole text as its pieces come out of a `Joiner`."""
    joiner = Joiner()
    return joiner.feed(text) + joiner.close()


class CallPiece:
    """What one delta adds to one call: the name and id if the call begins, more of its JSON text, how it ended."""

    __slots__ = ("arguments", "complete", "id", "index", "name")

    def __init__(
        self, index: int, id: str | None = None, name: str | None = None, arguments: str = "",
        complete: bool | None = None,
    ) -> None:  # fmt: skip
        self.index = index
        self.id = id
        self.name = name
        self.arguments = arguments
        self.complete = complete

    def __repr__(self) -> str:
        return f"CallPiece({self.index}, {self.id!r}, {self.name!r}, {self.arguments!r}, {self.complete})"


class CallPieces:
    """Call events to pieces. The arguments of a call's pieces join to `ToolCall.arguments_json`."""

    __slots__ = ("_ended", "_feed", "any_complete")

    def __init__(self, parser: DeltaSource) -> None:
        held = getattr(parser, "max_held", None)
        tools = getattr(parser, "tools", None)
        self._feed = (ArgumentsJSON(tools) if held is None else ArgumentsJSON(tools, max_held=held)).feed
        self._ended: int | None = None  # the last call that ended complete
        self.any_complete = False
        """A call has ended complete."""

    def cut(self, delta: Delta) -> bool:
        """Whether the delta, already fed, says that the input ended in a call (one that policy closed is no such)."""
        cut = [issue.index for issue in delta.issues if issue.code == "cut-call"]
        return bool(cut) and (cut[0] is None or cut[0] != self._ended)

    def feed(self, events: Sequence[Event]) -> Sequence[CallPiece]:
        if len(events) == 1 and isinstance(event := events[0], ArgumentDelta):
            text = self._feed(event)
            return (CallPiece(event.index, None, None, replaced(text)),) if text else ()
        return list(self._merged(events))

    def _merged(self, events: Iterable[Event]) -> Iterator[CallPiece]:
        piece: CallPiece | None = None
        parts: list[str] = []
        for event in events:
            text = self._feed(event)
            if isinstance(event, ToolCallStart):
                if piece is not None and _finish(piece, parts):
                    yield piece
                piece = CallPiece(event.index, event.id, replaced(event.name))
                parts = []
            elif piece is None:
                assert isinstance(event, (ArgumentStart, ArgumentDelta, ArgumentEnd, ToolCallEnd))
                piece = CallPiece(event.index)
            if text:
                parts.append(text)
            if isinstance(event, ToolCallEnd):
                piece.complete = event.complete
                if event.complete:
                    self.any_complete = True
                    self._ended = event.index
        if piece is not None and _finish(piece, parts):
            yield piece


def _finish(piece: CallPiece, parts: list[str]) -> bool:
    piece.arguments = replaced("".join(parts))
    return bool(piece.arguments) or piece.name is not None or piece.complete is not None


class Stream:
    """Feeds a parser and hands what it says to the hooks of an adapter. A stream belongs to one completion.

    `feed` takes what the parser's `feed` takes, or token ids (a list, an array, one int) where it has `feed_ids`; it
    raises what they raise. `dumps` encodes for `encode`.
    """

    def __init__(self, parser: DeltaSource, *, dumps: Dumps = compact) -> None:
        self.parser = parser
        self.dumps = dumps
        self.cut = False
        """The input ended inside a call."""
        self._parse = parser.feed
        self._pieces = CallPieces(parser)
        self._thought = Joiner()
        self._answer = Joiner()
        self._started = False
        self._closed = False

    def feed(self, data: Data, /) -> list[Any]:
        """More of the completion; the items it adds, often none."""
        delta = self._parse(data) if type(data) is str else self._feed_other(data)
        out: list[Any] = []
        if not self._started:
            self._started = True
            self._begin(out)
        if delta is not None:
            self._deliver(delta, out)
        return out

    def close(self, finish_reason: str | None = None, *, stop: Stop | None = None) -> list[Any]:
        """The end of the completion: what was held back, and the closing items. Later calls return `[]`.

        `finish_reason` is the engine's (`stop`, `length`, …; None: unknown). It decides what the parser is told: the
        model ended its turn (`ENDED`), or it was cut. `stop` says so outright, which matters for a stop *string* of the
        request: engines report `stop`, and the turn is cut all the same (`stop="none"`).
        """
        out: list[Any] = []
        if self._closed:
            return out
        self._closed = True
        if not self._started:
            self._started = True
            self._begin(out)
        delta = self.parser.close(stop=stop or ("im_end" if finish_reason in ENDED else "none"))
        if delta is not None:
            self._deliver(delta, out)
        if text := self._thought.close():
            self._reasoning(text, out)
        if text := self._answer.close():
            self._content(text, out)
        self._end(self.outcome(finish_reason), out)
        return out

    def outcome(self, finish_reason: str | None) -> str:
        """OpenAI's word for how it ended: `tool_calls` if a complete call exists, `length` if one was cut, else the
        engine's (`stop` if that is unknown)."""
        if self._pieces.any_complete:
            return "tool_calls"
        if self.cut:
            return "length"
        return "stop" if finish_reason is None else finish_reason

    def encode(self, items: Iterable[Any]) -> bytes:
        """The items as they go over the wire."""
        return b"".join(map(self._wire, items))

    def _feed_other(self, data: Any) -> Delta | None:
        if isinstance(data, (str, bytes, bytearray, memoryview)):
            return self._parse(data)
        feed_ids: Callable[[Any], Delta | None] | None = getattr(self.parser, "feed_ids", None)
        if feed_ids is None:
            raise TypeError(f"{type(self.parser).__name__} reads text or bytes, not {type(data).__name__}")
        return feed_ids(data)

    def _deliver(self, delta: Delta, out: list[Any]) -> None:
        if text := delta.reasoning:
            if not text.isascii() or self._thought.open:
                text = self._thought.feed(text)
            if text:
                self._reasoning(text, out)
        calls = delta.calls
        if self._thought.open and (calls or delta.content):
            self._reasoning(self._thought.close(), out)
        pieces: Sequence[CallPiece] = self._pieces.feed(calls) if calls else ()
        if pieces and pieces[0].name is None:  # more of the call that is open: content of this delta comes behind it
            self._call(pieces[0], out)
            pieces = pieces[1:]
        if text := delta.content:
            if not text.isascii() or self._answer.open:
                text = self._answer.feed(text)
            if text:
                self._content(text, out)
        for piece in pieces:
            self._call(piece, out)
        if delta.issues:
            self.cut = self.cut or self._pieces.cut(delta)

    # What an adapter supplies.

    def _begin(self, out: list[Any]) -> None:
        raise NotImplementedError

    def _reasoning(self, text: str, out: list[Any]) -> None:
        raise NotImplementedError

    def _content(self, text: str, out: list[Any]) -> None:
        raise NotImplementedError

    def _call(self, piece: CallPiece, out: list[Any]) -> None:
        raise NotImplementedError

    def _end(self, outcome: str, out: list[Any]) -> None:
        raise NotImplementedError

    def _wire(self, item: Any) -> bytes:
        return b"data: " + as_bytes(self.dumps(item)) + b"\n\n"


def as_bytes(encoded: str | bytes) -> bytes:
    """JSON text as UTF-8. Half of a surrogate pair (a model may write the escape of one) stays the escape it was."""
    return encoded.encode("utf-8", "backslashreplace") if isinstance(encoded, str) else encoded


ReasoningField: TypeAlias = Literal["reasoning_content", "reasoning", "both", "none"]
REASONING_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "reasoning_content": ("reasoning_content",),
    "reasoning": ("reasoning",),
    "both": ("reasoning_content", "reasoning"),
    "none": (),
}
"""The fields that hold thoughts: `reasoning_content` (DeepSeek, SGLang, llama.cpp), `reasoning` (vLLM, mlx-lm)."""
