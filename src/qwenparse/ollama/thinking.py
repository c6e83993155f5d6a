"""`thinking/parser.go`: the parser for models that come with a Go template which reveals two thinking tags.

It has no tools, holds no white space in thinking, and trims none before the closing tag. It works on bytes, since the
tags are any text and a chunk may end inside one of their characters.
"""

from __future__ import annotations

from .goutf8 import SPACE, escaped, go_bytes
from .result import AddResult

_LOOK, _EAT, _THINK, _AFTER, _DONE = range(5)


class ThinkingParser:
    """Splits a turn into thinking and content.

    `open` and `close` are the tags; `prefill` says that the prompt ends with the opening one.

    >>> parser = ThinkingParser()
    >>> parser.add("<think>Hm.\\n</think>\\n\\nHi")
    AddResult(content='Hi', thinking='Hm.\\n', calls=[])
    """

    def __init__(self, open: str = "<think>", close: str = "</think>", prefill: bool = False) -> None:
        self._open, self._close = go_bytes(open), go_bytes(close)
        self._state = _LOOK
        self._space: list[bytes] = []  # in front of what may become the opening tag
        self._held = b""  # the beginning of a tag
        if prefill:
            self.add(open)

    def add(self, chunk: str | bytes, done: bool = False) -> AddResult:
        """What the reference's `AddContent` returns for this chunk. Nothing held is given back at the end."""
        data = self._held + go_bytes(escaped(chunk))
        self._held = b""
        content = thinking = b""
        if self._state == _LOOK:
            rest = _ltrim(data)
            if rest.startswith(self._open):
                self._state = _EAT
                data = rest[len(self._open) :]
            elif self._open.startswith(rest):
                self._space.append(data[: len(data) - len(rest)])
                self._held = rest
            else:
                content = b"".join(self._space) + data
                self._state = _DONE
            if self._state != _EAT:
                return _result(content, b"")
        if self._state == _EAT:
            data = _ltrim(data)
            if data:
                self._state = _THINK
        if self._state == _THINK:
            at = data.find(self._close)
            if at >= 0:
                thinking, data = data[:at], data[at + len(self._close) :]
                self._state = _AFTER
            else:
                kept = _overlap(data, self._close)
                thinking, self._held = data[: len(data) - kept], data[len(data) - kept :]
        if self._state == _AFTER:
            data = _ltrim(data)
            if data:
                self._state = _DONE
        if self._state == _DONE:
            content = data
        return _result(content, thinking)


def _ltrim(data: bytes) -> bytes:
    return go_bytes(escaped(data).lstrip(SPACE))


def _overlap(data: bytes, tag: bytes) -> int:
    """How many bytes at the end are the beginning of the tag."""
    return next((k for k in range(min(len(tag), len(data)), 0, -1) if data.endswith(tag[:k])), 0)


def _result(content: bytes, thinking: bytes) -> AddResult:
    result = AddResult()
    result.content, result.thinking, result.calls = escaped(content), escaped(thinking), []
    return result
