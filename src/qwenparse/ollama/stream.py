"""The streaming half of the reference's parsers: states, held text, one result per `add`.

Theory of operation. The reference appends every chunk to one buffer and searches the whole of it again, which is
quadratic. Here the buffer is never rebuilt, because after each `add` it has one of two shapes:

* in thinking and content: white space that may turn out to be trailing, then a beginning of a tag (`_space`, a list
  of pieces, and `_partial`). Tags hold no white space, so a tag found later begins in `_partial` or behind it, and
  the white space before it is trimmed as one run. A chunk of pure white space is put aside unread.
* in a call: its text so far (`_call`, a list of pieces). It can only end at `l>`, so a chunk without it is put aside
  unread; for a `</tool_call>` that began in an earlier chunk the last 11 characters are looked at.

Within one `add` a position moves through the chunk, and nothing is copied or searched twice. `_mode` says what the
next chunk needs: CONTENT and THINKING mean a decided state without partial tag, where a chunk without `<` can do
nothing but move the trailing white space; IN_CALL is a call; OTHER takes the general way.

All text is in escaped form (`goutf8`): one `str` for one byte string.
"""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from .._events import ArgumentDelta, ArgumentEnd, ArgumentStart, CallEvent, Delta, ToolCallEnd, ToolCallStart
from ..errors import FormatError, ParserClosed
from .coerce import Tools
from .errors import ParseError
from .gojsontext import Ordered
from .gostrconv import Arch
from .goutf8 import SPACE, escaped, join, skip_space
from .result import AddResult, ToolCall, new_call
from .thinkvalue import Think, check_think

TOOL_OPEN, TOOL_CLOSE = "<tool_call>", "</tool_call>"
THINK_OPEN, THINK_CLOSE = "<think>", "</think>"

# States. LEAD: thinking, and a leading <think> may still come. EAT: white space behind that <think>.
# SPACE_TEXT, SPACE_CALL: white space that is dropped before content, before a call's text.
LEAD, EAT, THINK, SPACE_TEXT, TEXT, SPACE_CALL, CALL, CLOSED = range(8)

OTHER, CONTENT, THINKING, IN_CALL = range(4)

_BEHIND_SPACE = {EAT: THINK, SPACE_TEXT: TEXT, SPACE_CALL: CALL}
_EDGE = len(TOOL_CLOSE) - 1
_ID_CHARS = string.ascii_lowercase + string.digits


class Pieces:
    """What one `add` has found so far."""

    __slots__ = ("calls", "content", "thinking")

    def __init__(self) -> None:
        self.content: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[str] = []


class Parser:
    """One of the reference's parsers, by name; each turn needs its own.

    `name`: `qwen3-coder`, `qwen3.5` (or `ornith`), `qwen3`, `qwen3-thinking`, `qwen3-vl-instruct`,
    `qwen3-vl-thinking`. `tools`: OpenAI-style tool dicts. `think`: None, a bool or a level, as in Ollama's API.
    `last_message`: the prompt's last message, which may be a prefill. `arch` decides how numbers beyond int64 become
    integers (`arm64` is Ollama on Apple silicon).

    Raises `FormatError` (a `ValueError`) for an unknown name or architecture and a bad `think`.

    >>> parser = Parser("qwen3.5")
    >>> parser.add("Hm.\\n</think>\\n\\nHi")
    AddResult(content='Hi', thinking='Hm.', calls=[])
    """

    __slots__ = ("_arch", "_call", "_index", "_mode", "_partial", "_space", "_state", "_tools", "name")

    _by_name: ClassVar[dict[str, type[Parser]]] = {}

    # What the families differ in, beside `_start`, `_think` and `_read_call`.
    _trims_call: ClassVar[bool] = False  # white space around the call's text is dropped
    _trims_later: ClassVar[bool] = False  # white space after a call is dropped in later chunks too
    _numbers_late: ClassVar[bool] = False  # an `add` that fails uses no index
    _after_bare_open: ClassVar[int] = EAT  # the state after a leading <think> with nothing behind it

    def __init_subclass__(cls, *, names: Sequence[str] = ()) -> None:
        for name in names:
            Parser._by_name[name] = cls

    def __new__(cls, name: str = "", *args: Any, **kwargs: Any) -> Parser:
        if cls is Parser:
            found = cls._by_name.get(name)
            if found is None:
                raise FormatError(f'unknown parser "{name}" (known: {", ".join(sorted(cls._by_name))})')
            cls = found
        return object.__new__(cls)

    def __init__(
        self,
        name: str,
        tools: Tools | None = None,
        think: Think = None,
        last_message: Mapping[str, Any] | None = None,
        arch: Arch = "amd64",
    ) -> None:
        if arch not in ("amd64", "arm64"):
            raise FormatError(f'unknown architecture "{arch}" (known: amd64, arm64)')
        self.name = name
        self._tools: Tools = tools or ()
        self._arch: Arch = arch
        self._index = 0
        self._space: list[str] = []
        self._partial = ""
        self._call: list[str] = []
        self._state = self._start(check_think(think), _is_prefill(last_message))
        self._mode = {TEXT: CONTENT, THINK: THINKING}.get(self._state, OTHER)

    # ------------------------------------------------------------------------------------- what a family defines

    def _start(self, think: bool | None, prefill: bool) -> int:
        """The first state, from `think` (None: unset) and whether the last message is a non-empty assistant's."""
        raise NotImplementedError

    def _think(self, data: str, pos: int, out: Pieces) -> int:
        """State THINK. The position from which the next state goes on, or -1 at a stop."""
        raise NotImplementedError

    def _read_call(self, text: str) -> tuple[str, Ordered | None]:
        """Name and arguments of a call's text. Raises `ParseError`."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------------------- the API

    def add(self, chunk: str | bytes, done: bool = False) -> AddResult:
        """What the reference's `Add` returns for this chunk; raises `ParseError` where that returns an error.

        Chunks may end inside a character. After a `ParseError` the parser goes on, as the reference does. `done` is
        ignored, as there: nothing held is given back at the end. A lone surrogate that is no surrogate escape raises
        `UnicodeEncodeError` and changes nothing. Time is linear in the length of all chunks together.
        """
        if type(chunk) is not str or not chunk.isascii():
            chunk = escaped(chunk)
        result = AddResult()
        result.calls = []
        mode = self._mode
        if mode == IN_CALL:
            # The call ends at a `>` with an `l` before it, which may be in an earlier chunk.
            if ">" not in chunk or ("l>" not in chunk and not self._awaits(chunk)):
                if chunk:
                    self._call.append(chunk)
                result.content = result.thinking = ""
                return result
        elif mode and "<" not in chunk:
            # `str.rstrip` knows all of Go's white space and more: what it leaves alone has none at its end.
            text = chunk.rstrip()
            if text is not chunk or self._space:
                text = self._trimmed(chunk)
            if mode == CONTENT:
                result.content = text
                result.thinking = ""
            else:
                result.content = ""
                result.thinking = text
            return result
        return self._general(chunk, result)

    def feed(self, data: str | bytes, /) -> Delta | None:
        """`add`, answered as a `DeltaParser` answers: None if the chunk gave nothing.

        A call comes whole: start, one argument object (`ArgumentStart.name` is None), its JSON text, and both ends. A
        call without an argument object (`arguments_json` is `null`, or `""`) has no argument.
        Raises what `add` raises.
        """
        result = self.add(data)
        if result.calls:
            events = tuple(event for call in result.calls for event in _events(call))
            return Delta(result.thinking or None, result.content or None, events)
        if result.content:
            return Delta(result.thinking or None, result.content)
        return Delta(result.thinking) if result.thinking else None

    def close(self, *, stop: Literal["im_end", "other_stop", "none"] = "none") -> Delta | None:
        """End the turn: always None, for what is held is lost (`stop` makes no difference). May be called again.

        `add` and `feed` raise `ParserClosed` afterwards.
        """
        if stop not in ("im_end", "other_stop", "none"):
            raise ValueError(f'unknown stop "{stop}" (known: im_end, other_stop, none)')
        self._state, self._mode = CLOSED, OTHER
        self._space, self._partial, self._call = [], "", []
        return None

    # ------------------------------------------------------------------------------------------------ the machine

    def _awaits(self, chunk: str) -> bool:
        return chunk[0] == ">" and bool(self._call) and self._call[-1][-1] == "l"

    def _trimmed(self, chunk: str) -> str:
        """What a chunk without tags gives: the white space at its end is kept, the one kept before comes out."""
        text = chunk.rstrip(SPACE)
        space = self._space
        if len(text) != len(chunk):
            tail = chunk[len(text) :]
            if not text:
                space.append(tail)
                return ""
            if space:
                text = "".join(space) + text
            space[:] = (tail,)
        elif text and space:
            text = "".join(space) + text
            space.clear()
        return text

    def _general(self, chunk: str, result: AddResult) -> AddResult:
        if self._state == CLOSED:
            raise ParserClosed("the turn is over: close() was called")
        out = Pieces()
        self._run(chunk, out)
        result.content = join(out.content) if out.content else ""
        result.thinking = join(out.thinking) if out.thinking else ""
        if out.calls:
            result.calls = self._read_calls(out.calls)
        return result

    def _run(self, chunk: str, out: Pieces) -> None:
        data = self._partial + chunk
        self._partial = ""
        self._mode = OTHER
        pos = 0
        while pos >= 0:
            state = self._state
            if state == TEXT:
                pos = self._text(data, pos, out)
            elif state == CALL:
                pos = self._in_call(data, pos, out)
            elif state == THINK:
                pos = self._think(data, pos, out)
            elif state == LEAD:
                pos = self._lead(data)
            else:
                pos = skip_space(data, pos)
                if pos == len(data):
                    return
                self._state = _BEHIND_SPACE[state]

    def _lead(self, data: str) -> int:
        """Drop one leading `<think>` and the white space around it. Position, or -1 at a stop."""
        pos = skip_space(data, 0)
        if data.startswith(THINK_OPEN, pos):
            self._space.clear()
            pos = skip_space(data, pos + len(THINK_OPEN))
            if pos == len(data):
                self._state = self._after_bare_open
                return -1
            self._state = THINK
            return pos
        if len(data) - pos < len(THINK_OPEN) and THINK_OPEN.startswith(data[pos:]):
            if pos:
                self._space.append(data[:pos])
            self._partial = data[pos:]
            return -1
        self._state = THINK
        return 0

    def _text(self, data: str, pos: int, out: Pieces) -> int:
        at = data.find(TOOL_OPEN, pos)
        if at < 0:
            self._hold(out.content, data, pos, CONTENT, (TOOL_OPEN,))
            return -1
        return self._open_call(out.content, data, pos, at)

    def _open_call(self, out: list[str], data: str, pos: int, at: int) -> int:
        """A call opens at `at`, behind text that belongs to `out`."""
        self._before(out, data[pos:at])
        self._state = SPACE_CALL if self._trims_call else CALL
        return at + len(TOOL_OPEN)

    def _in_call(self, data: str, pos: int, out: Pieces) -> int:
        at = self._across(data) if self._call else -1
        if at < 0:
            at = data.find(TOOL_CLOSE, pos)
            if at < 0:
                if pos < len(data):
                    self._call.append(data[pos:])
                self._mode = IN_CALL
                return -1
            self._call.append(data[pos:at])
            at += len(TOOL_CLOSE)
        out.calls.append(join(self._call))
        self._call.clear()
        at = skip_space(data, at)
        self._state = SPACE_TEXT if self._trims_later and at == len(data) else TEXT
        return at

    def _across(self, data: str) -> int:
        """Where a `</tool_call>` ends that began in an earlier chunk, which is cut off there; -1 if there is none."""
        end = data.find(">", 0, _EDGE) + 1
        if not end or not TOOL_CLOSE.endswith(data[:end]):
            return -1
        missing = len(TOOL_CLOSE) - end
        edge = "".join(piece[-missing:] for piece in self._call[-missing:])
        if not edge.endswith(TOOL_CLOSE[:missing]):
            return -1
        while missing:
            piece = self._call.pop()
            if len(piece) > missing:
                self._call.append(piece[:-missing])
            missing -= min(missing, len(piece))
        return end

    # ------------------------------------------------------------------------------------------- trimming, holding

    def _before(self, out: list[str], piece: str) -> None:
        """The end of a text, before a tag: white space at its end is dropped."""
        body = piece.rstrip(SPACE)
        if body:
            out.append("".join(self._space) + body)
        self._space.clear()

    def _hold(self, out: list[str], data: str, pos: int, mode: int, tags: tuple[str, ...]) -> None:
        """A stop in a text: white space at its end, and the beginning of a tag behind that, are kept."""
        end = partial_tag(data, pos, tags)
        body = data[pos:end].rstrip(SPACE)
        if body:
            out.append("".join(self._space) + body)
            self._space.clear()
        pos += len(body)
        if pos < end:
            self._space.append(data[pos:end])
        self._partial = data[end:]
        self._mode = OTHER if self._partial else mode

    def _read_calls(self, texts: list[str]) -> list[ToolCall]:
        calls = []
        first = self._index
        try:
            for text in texts:
                calls.append(new_call(*self._read_call(text), self._index))
                self._index += 1
        except ParseError:
            if self._numbers_late:
                self._index = first
            raise
        return calls


def partial_tag(data: str, pos: int, tags: tuple[str, ...]) -> int:
    """Where, from `pos` on, the longest beginning of a tag (or a whole one) starts that ends the text, else its end.

    A tag has its only `<` in front, so the last `<` is the only place.
    """
    at = data.rfind("<", max(pos, len(data) - max(map(len, tags))))
    if at >= 0:
        tail = data[at:]
        if any(tag.startswith(tail) for tag in tags):
            return at
    return len(data)


def _is_prefill(message: Mapping[str, Any] | None) -> bool:
    if not message:
        return False
    return str(message.get("role")).lower() == "assistant" and bool(message.get("content"))


def _events(call: ToolCall) -> tuple[CallEvent, ...]:
    index = call.index
    start = ToolCallStart(index, call.name, id="call_" + "".join(random.choices(_ID_CHARS, k=8)))
    end = ToolCallEnd(index, True)
    if call.arguments_json in ("", "null"):  # Go could not write them, or had no map: an object without members
        return start, end
    return start, ArgumentStart(index), ArgumentDelta(index, call.arguments_json), ArgumentEnd(index, True), end
