"""Go's `encoding/json` (go1.26), writing: strings, float64, and values with Go's escapes and key order.

Values are `str`, `int` (int64), `float`, `bool`, None, list, dict (a Go map: its keys are sorted) and `Ordered`
(an ordered map or a struct: its members in order).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from .gojson import MAX_DEPTH
from .gostrconv import positional, scientific, shortest_digits


class UnsupportedValue(ValueError):
    """A value that cannot be written; `str(e)` is Go's text."""


class Ordered:
    """An object whose members keep their order; U+0008 and U+000C in its keys are written `\\u0008` and `\\u000c`."""

    __slots__ = ("members",)

    def __init__(self, members: Iterable[tuple[str, Any]]) -> None:
        self.members = list(members)


_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_KEY_SPECIAL = str.maketrans({
    **{chr(i): f"\\u{i:04x}" for i in range(0x20)},
    **_HTML, '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t",
})  # fmt: skip


def string(text: str) -> str:
    """A JSON string, quotes included."""
    out = json.dumps(text, ensure_ascii=False)
    for char, escape in _HTML.items():
        if char in out:
            out = out.replace(char, escape)
    return out


def ordered_key(text: str) -> str:
    """A key of `Ordered`, quotes included."""
    return f'"{text.translate(_KEY_SPECIAL)}"'


def float64(value: float) -> str:
    """A finite float64: shortest digits, plain from 1e-6 up to below 1e21. Raises `UnsupportedValue`."""
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise UnsupportedValue(f"json: unsupported value: {name}")
    sign, digits, exponent = shortest_digits(value)
    if digits == "0" or -6 <= exponent < 21:
        return positional(sign, digits, exponent)
    return scientific(sign, digits, exponent, 1)


_first = itemgetter(0)


def _scalar(value: Any, integer: Callable[[int], str]) -> str:
    if isinstance(value, str):
        return string(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float64(value)
    return integer(value)


def dumps(value: Any, *, comma: str = ",", colon: str = ":", integer: Callable[[int], str] = str) -> str:
    """The JSON text of a value. Raises `UnsupportedValue` for NaN, infinities, and more than 10,000 levels."""
    out: list[str] = []
    # Each open container: the iterator over what is left of it, and its closing bracket.
    stack: list[tuple[Iterator[tuple[str, Any]], str]] = []
    while True:
        if isinstance(value, (list, dict, Ordered)):
            if len(stack) == MAX_DEPTH:
                bracket = "[" if isinstance(value, list) else "{"
                raise UnsupportedValue(f"invalid character '{bracket}' exceeded max depth")
            if isinstance(value, list):
                out.append("[")
                stack.append(((("", item) for item in value), "]"))
            elif isinstance(value, dict):
                out.append("{")
                stack.append((((string(k) + colon, v) for k, v in sorted(value.items(), key=_first)), "}"))
            else:
                out.append("{")
                stack.append((((ordered_key(k) + colon, v) for k, v in value.members), "}"))
            first = True
        else:
            out.append(_scalar(value, integer))
            first = False
        while stack:
            found = next(stack[-1][0], None)
            if found is None:
                out.append(stack.pop()[1])
                first = False
                continue
            if not first:
                out.append(comma)
            out.append(found[0])
            value = found[1]
            break
        else:
            return "".join(out)
