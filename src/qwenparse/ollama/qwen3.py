"""`model/parsers/qwen3.go`: calls written as JSON, with and without thinking."""

from __future__ import annotations

from . import jsoncall
from .errors import ParseError
from .gojsontext import Ordered
from .goutf8 import SPACE
from .stream import LEAD, SPACE_TEXT, TEXT, THINK_CLOSE, THINKING, TOOL_OPEN, Parser, Pieces

_TAGS = (THINK_CLOSE, TOOL_OPEN)


class JSONCallParser(Parser):
    """What `qwen3.go` and `qwen3vl.go` share: thinking ends at whichever tag comes first."""

    __slots__ = ()

    def _think(self, data: str, pos: int, out: Pieces) -> int:
        closed = data.find(THINK_CLOSE, pos)
        opened = data.find(TOOL_OPEN, pos, closed if closed >= 0 else len(data))
        if opened >= 0:
            return self._open_call(out.thinking, data, pos, opened)
        if closed >= 0:
            self._before(out.thinking, data[pos:closed])
            self._state = SPACE_TEXT
            return closed + len(THINK_CLOSE)
        self._hold(out.thinking, data, pos, THINKING, _TAGS)
        return -1


class Qwen3(JSONCallParser, names=("qwen3", "qwen3-thinking")):
    """`qwen3` starts in content, `qwen3-thinking` in thinking unless `think` is off."""

    __slots__ = ()

    _trims_call = True
    _after_bare_open = LEAD

    def _start(self, think: bool | None, prefill: bool) -> int:
        return LEAD if self.name == "qwen3-thinking" and think is not False else TEXT

    def _read_call(self, text: str) -> tuple[str, Ordered | None]:
        try:
            name, arguments = jsoncall.read(text.rstrip(SPACE), jsoncall.QWEN3)
        except jsoncall.CallError as error:
            raise ParseError(f"failed to parse JSON: {error}") from None
        if not name:
            raise ParseError("empty function name")
        return name, arguments
