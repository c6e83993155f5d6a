"""`model/parsers/qwen3coder.go`: calls written in the XML-like form, no thinking."""

from __future__ import annotations

import re
from typing import Any

from .coerce import declared_types, typed
from .errors import ParseError
from .gojsontext import Ordered
from .goxml import XMLError, quote_attribute, read_function
from .stream import TEXT, Parser, Pieces

_EQUALS_TAG = re.compile(r"<([0-9A-Za-z_]+)=([^>]+)>")


def to_xml(text: str) -> str:
    """Every `<word=value>` as `<word name="value">` with the value escaped, inside parameter values too."""
    # Without a `>` behind them, many `<a=` would each be searched to the end of the text.
    end = text.rfind(">") + 1
    return _EQUALS_TAG.sub(_with_name, text[:end]) + text[end:]


def _with_name(found: re.Match[str]) -> str:
    return f'<{found[1]} name="{quote_attribute(found[2])}">'


class Qwen3Coder(Parser, names=("qwen3-coder",)):
    """Start in content; `think` and the last message make no difference."""

    __slots__ = ("_types",)

    _types: dict[str, dict[str, list[str]]] | None

    def _start(self, think: bool | None, prefill: bool) -> int:
        self._types = None
        return TEXT

    def _think(self, data: str, pos: int, out: Pieces) -> int:
        raise AssertionError("this parser has no thinking")

    def _read_call(self, text: str) -> tuple[str, Ordered | None]:
        try:
            function = read_function(to_xml(text))
        except XMLError as error:
            raise ParseError(str(error)) from None
        if self._types is None:
            self._types = declared_types(self._tools)
        types = self._types.get(function.name, {})
        arguments: dict[str, Any] = {}
        for name, raw in function.parameters:
            arguments[name] = typed(raw, types.get(name, []), self._arch)
        return function.name, Ordered(arguments.items())
