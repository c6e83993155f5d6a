"""`model/parsers/qwen35.go`: thinking before the form of `qwen3coder.go`. Qwen3.5 and Qwen3.8."""

from __future__ import annotations

from .goutf8 import skip_space
from .qwen3coder import Qwen3Coder
from .stream import LEAD, SPACE_TEXT, TEXT, THINK_CLOSE, THINKING, TOOL_OPEN, Pieces, partial_tag


class Qwen35(Qwen3Coder, names=("qwen3.5", "ornith")):
    """Start in thinking unless `think` is off or the last message is an assistant's with content."""

    __slots__ = ()

    def _start(self, think: bool | None, prefill: bool) -> int:
        super()._start(think, prefill)
        return TEXT if think is False or prefill else LEAD

    def _think(self, data: str, pos: int, out: Pieces) -> int:
        at = data.find(THINK_CLOSE, pos)
        if at >= 0:
            self._before(out.thinking, data[pos:at])
            self._state = SPACE_TEXT
            return at + len(THINK_CLOSE)
        # The reference looks for a partial tag at the end before it looks for a whole one further left: the calls of
        # a chunk that ends in `<` (or in the opening tag itself) are lost into the thinking.
        partial = partial_tag(data, pos, _TAGS) < len(data)
        at = -1 if partial else data.find(TOOL_OPEN, pos)
        if at < 0:
            self._hold(out.thinking, data, pos, THINKING, _TAGS)
            return -1
        # It puts a </think> before the call, and drops the white space that the buffer holds behind the tag.
        return skip_space(data, self._open_call(out.thinking, data, pos, at))


_TAGS = (THINK_CLOSE, TOOL_OPEN)
