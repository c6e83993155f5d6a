"""The one JSON text of a call's arguments, made in pieces while they arrive.

Strings go out as they come. A value that may be something else waits for its end, because only then is it known how
it is spelled; beyond `max_held` it is a string. The argument object of the JSON dialect passes through. What a cut
call has sent is left as it is: closed for looks, half a command would look whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .._events import ArgumentDelta, ArgumentEnd, ArgumentStart, Event, ToolCallEnd, ToolCallStart
from ..schema import Tool, ToolSet
from .calls import Recorded
from .json_text import JSON_WS, ControlEscaper, object_in_string, quote
from .literals import MAX_HELD, convert

# What is done with the text of the argument that is open.
_NONE: Final = 0
_STRING: Final = 1  # sent at once
_UNDECIDED: Final = 2  # unknown types, and nothing written yet
_HELD: Final = 3  # waits for its end
_OBJECT: Final = 4  # JSON dialect, passed through
_OBJECT_START: Final = 5  # JSON dialect, and nothing written yet
_OBJECT_HELD: Final = 6  # JSON dialect: a string that holds the object


class ArgumentsJSON:
    """Turns the call events of a parser into pieces of JSON text, one text for each call.

    The pieces of a call join to `ToolCall.arguments_json`: JSON if the call is complete (`{}` without arguments), what
    has been sent so far if not. Keys stand in the order written, a name given twice stands twice. Non-ASCII is not
    escaped; lone surrogates stay. Linear in the text, for any pieces; memory is bounded by `max_held` code points (in
    the JSON dialect, by what the parser admits as a string that holds an object).

    >>> pieces = ArgumentsJSON(None)
    >>> events = [ToolCallStart(0, "sh"), ArgumentStart(0, "cmd"), ArgumentDelta(0, 'echo "'), ArgumentDelta(0, "hi"),
    ...           ArgumentEnd(0, True), ToolCallEnd(0, True)]
    >>> [pieces.feed(event) for event in events]
    ['', '{"cmd": ', '"echo \\\\"', 'hi', '"', '}']
    """

    __slots__ = ("_between", "_escape", "_held", "_length", "_max_held", "_mode", "_tool", "_tools", "_types")

    def __init__(self, tools: ToolSet | Iterable[Mapping[str, Any]] | None = None, *, max_held: int = MAX_HELD) -> None:
        self._tools = ToolSet.of(tools)
        self._max_held = max_held
        self._begin(None)

    def feed(self, event: Event, /) -> str:
        """The next piece of the JSON text of the call that `event` belongs to; `""` if it adds nothing.

        Events of a call come in order and calls one after another. Events that belong to no call are ignored.
        """
        if isinstance(event, ArgumentDelta):
            mode = self._mode
            if mode == _STRING:
                return quote(event.text)[1:-1]
            if mode == _OBJECT:
                return self._escape(event.text)
            return self._text(event.text)
        if isinstance(event, ArgumentStart):
            return self._start(event.name)
        if isinstance(event, ArgumentEnd):
            return self._end() if event.closed else ""
        if isinstance(event, ToolCallEnd):
            return self._close() if event.complete else ""
        if isinstance(event, ToolCallStart):
            self._begin(self._tools.get(event.name))
        return ""

    def _begin(self, tool: Tool | None) -> None:
        self._tool = tool
        self._mode = _NONE
        self._between = "{"
        self._types: frozenset[str] | None = None
        self._held: list[str] = []
        self._length = 0
        self._escape = _unchanged

    def _start(self, name: str | None) -> str:
        before = self._end()
        if name is None:
            self._mode = _OBJECT_START
            return before
        types = self._types = None if self._tool is None else self._tool.types(name)
        before += f"{self._between}{quote(name)}: "
        self._between = ", "
        if not types:
            self._mode = _UNDECIDED
        elif len(types) == 1 and "string" in types:
            self._mode = _STRING
            before += '"'
        else:
            self._mode = _HELD
        return before

    def _text(self, text: str) -> str:
        mode = self._mode
        if mode == _STRING:
            return quote(text)[1:-1]
        if mode == _OBJECT:
            return self._escape(text)
        if mode == _UNDECIDED and text:
            if text[0] not in "{[":
                self._mode = _STRING
                return quote(text)[:-1]
            mode = self._mode = _HELD
        elif mode == _OBJECT_START:
            text = text.lstrip(JSON_WS)
            if text[:1] == '"':
                mode = self._mode = _OBJECT_HELD
            elif text:
                self._mode = _OBJECT
                self._between = ""
                self._escape = ControlEscaper().feed
                return self._escape(text)
        if mode == _HELD or mode == _OBJECT_HELD:
            self._held.append(text)
            self._length += len(text)
            if mode == _HELD and self._length > self._max_held:
                self._mode = _STRING
                return quote(self._take())[:-1]
        return ""

    def _end(self) -> str:
        mode = self._mode
        self._mode = _NONE
        if mode == _STRING:
            return '"'
        if mode == _HELD:
            return convert(self._take(), self._types, max_held=self._max_held).json
        if mode == _UNDECIDED:
            return '""'
        if mode == _OBJECT_HELD:
            source = object_in_string(self._take().rstrip(JSON_WS))
            if source is not None:
                self._between = ""
                return ControlEscaper().feed(source)
        return ""

    def _close(self) -> str:
        rest = self._end()
        # "{": no argument came; "": the object of the JSON dialect has closed itself.
        rest += {"{": "{}", ", ": "}", "": ""}[self._between]
        self._begin(None)
        return rest

    def _take(self) -> str:
        text = "".join(self._held)
        self._held = []
        self._length = 0
        return text


def arguments_json(recorded: Iterable[Recorded], tool: Tool | None, *, complete: bool, max_held: int = MAX_HELD) -> str:
    """The JSON text of a call's recorded arguments, equal to the joined pieces of `ArgumentsJSON` for the same call."""
    writer = ArgumentsJSON(max_held=max_held)
    writer._begin(tool)
    pieces = []
    for name, literal, closed in recorded:
        pieces.append(writer._start(name))
        pieces.append(writer._text(literal))
        if closed:
            pieces.append(writer._end())
    if complete:
        pieces.append(writer._close())
    return "".join(pieces)


def _unchanged(text: str) -> str:
    return text
