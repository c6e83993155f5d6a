"""Lists and dicts as Python writes them, which models do too: `['a', None]`, `{"a": 1,}`.

Read here instead of by `ast.literal_eval`, whose limits, warnings and crashes on hostile text differ between versions
of CPython. The grammar is that of its displays of constants; equality with it is tested.
"""

from __future__ import annotations

import re
import unicodedata
from math import isfinite
from typing import Any, Final

from .json_text import MAX_DIGITS

MAX_BYTES: Final = 1 << 16
"""UTF-8 bytes of a literal that is read."""
MAX_DEPTH: Final = 64
"""Brackets within each other that are read."""

_DIGITS: Final = r"[0-9](?:_?[0-9])*"
_TOKEN: Final = re.compile(
    rf"""
    (?:[ \t\n\r\f]|\\\r?\n|\#[^\n\r]*)*
    (?:
        (?P<mark>[\[\](){{}},:+-])
      | (?P<string>(?P<prefix>[uUrR]?)(?:
            '''(?P<s3>[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*)'''
          | \"""(?P<d3>[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*)\"""
          | '(?!'')(?P<s1>[^'\\\n\r]*(?:\\(?:\r\n|.)[^'\\\n\r]*)*)'
          | "(?!"")(?P<d1>[^"\\\n\r]*(?:\\(?:\r\n|.)[^"\\\n\r]*)*)"
        ))
      | (?P<float>(?:(?:{_DIGITS})?\.{_DIGITS}|{_DIGITS}\.)(?:[eE][+-]?{_DIGITS})?(?![\w.])
                 |{_DIGITS}[eE][+-]?{_DIGITS}(?![\w.]))
      | (?P<int>(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|[1-9](?:_?[0-9])*|0(?:_?0)*)(?![\w.]))
      | (?P<name>(?:True|False|None)(?!\w))
      | (?P<end>\Z)
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(\r\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^{}]+\}|.)", re.DOTALL
)
_SIMPLE: Final = {
    "\n": "", "\r": "", "\r\n": "", "\\": "\\", "'": "'", '"': '"',
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip
_NAMES: Final = {"True": True, "False": False, "None": None}
_TOO_BIG: Final = 10**MAX_DIGITS


def read_container(text: str) -> list[Any] | dict[str, Any] | None:
    """The list or dict that `text` is as a Python literal, else None.

    Made of list, tuple, dict, str, bool, None and finite real numbers only. Tuples become lists and keys strings, as
    `json.dumps` writes them, because the value must be what a client reads from the JSON text.
    """
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return None
    try:
        reader = _Reader(text)
        value = reader.value(0)
        if reader.mark == ",":  # a tuple needs no brackets
            value = [value]
            while reader.skip(",") and reader.kind != "end":
                value.append(reader.value(0))
        if reader.kind != "end":
            return None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (list, dict)) else None


class _Reader:
    __slots__ = ("at", "kind", "mark", "match", "text")

    match: re.Match[str]
    kind: str
    mark: str

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.next()

    def next(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise ValueError("not part of a literal")
        self.match = match
        self.at = match.end()
        self.mark = match["mark"] or ""
        self.kind = next(kind for kind in ("mark", "string", "int", "float", "name", "end") if match[kind] is not None)

    def skip(self, mark: str) -> bool:
        if self.mark != mark:
            return False
        self.next()
        return True

    def value(self, depth: int) -> Any:
        if self.kind == "string":
            return self.string()
        if self.kind == "name":
            name = self.match["name"]
            self.next()
            return _NAMES[name]
        if self.kind != "mark" or self.mark in ("+", "-"):
            return self.number()
        if depth >= MAX_DEPTH:
            raise ValueError("too deep")
        if self.skip("["):
            return self.items("]", depth + 1)
        if self.skip("{"):
            return self.pairs(depth + 1)
        if self.skip("("):
            if self.mark == ")":
                return self.items(")", depth + 1)
            first = self.value(depth + 1)
            if self.skip(")"):
                return first
            if not self.skip(","):
                raise ValueError("expected , or )")
            return [first, *self.items(")", depth + 1)]
        raise ValueError("expected a value")

    def items(self, close: str, depth: int) -> list[Any]:
        values = []
        while not self.skip(close):
            values.append(self.value(depth))
            if not self.skip(",") and self.mark != close:
                raise ValueError(f"expected , or {close}")
        return values

    def pairs(self, depth: int) -> dict[str, Any]:
        pairs = {}
        while not self.skip("}"):
            key = _key(self.value(depth))
            if not self.skip(":"):
                raise ValueError("expected :")
            pairs[key] = self.value(depth)
            if not self.skip(",") and self.mark != "}":
                raise ValueError("expected , or }")
        return pairs

    def number(self) -> int | float:
        sign = -1 if self.mark == "-" else 1
        if self.mark:
            self.next()
        digits = self.match["int"] or self.match["float"]
        if digits is None:
            raise ValueError("expected a number")
        number: int | float
        if self.kind == "int":
            number = int(digits, 0)
            if number >= _TOO_BIG:
                raise ValueError("too many digits")
        else:
            number = float(digits)
            if not isfinite(number):
                raise ValueError("not finite")
        self.next()
        return sign * number

    def string(self) -> str:
        parts = []
        while self.kind == "string":
            triple = self.match["s3"] if self.match["s3"] is not None else self.match["d3"]
            single = self.match["s1"] if self.match["s1"] is not None else self.match["d1"]
            body = triple.replace("\r\n", "\n").replace("\r", "\n") if triple is not None else single
            parts.append(body if self.match["prefix"] in ("r", "R") else _ESCAPE.sub(_unescape, body))
            self.next()
        return "".join(parts)


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    simple = _SIMPLE.get(escape)
    if simple is not None:
        return simple
    kind = escape[0]
    if kind in "01234567":
        return chr(int(escape, 8))
    if kind in "xuU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if kind == "N" and len(escape) > 1:
        try:
            return unicodedata.lookup(escape[2:-1])
        except KeyError:
            raise ValueError("no such character") from None
    if kind in "xuUN":
        raise ValueError("half an escape")
    return match[0]


def _key(value: Any) -> str:
    """A dict key as `json.dumps` writes it."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    raise ValueError("not a key")
