"""`model/parsers/qwen3vl.go`: calls written as JSON; nothing around a call's text is trimmed."""

from __future__ import annotations

from . import jsoncall
from .errors import ParseError
from .gojsontext import Ordered
from .qwen3 import JSONCallParser
from .stream import TEXT, THINK


class Qwen3VL(JSONCallParser, names=("qwen3-vl-instruct", "qwen3-vl-thinking")):
    """The thinking variant starts in thinking, whatever `think` says, unless the last message is an assistant's."""

    __slots__ = ()

    _trims_later = True
    _numbers_late = True

    def _start(self, think: bool | None, prefill: bool) -> int:
        return THINK if self.name == "qwen3-vl-thinking" and not prefill else TEXT

    def _read_call(self, text: str) -> tuple[str, Ordered | None]:
        try:
            return jsoncall.read(text, jsoncall.QWEN3_VL)
        except jsoncall.CallError as error:
            raise ParseError(str(error)) from None
