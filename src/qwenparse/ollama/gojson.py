"""Go's `encoding/json` (go1.26), reading: syntax with its error texts, and values as `any` holds them.

Everything works with an explicit stack, since 10,000 levels are legal, and looks at each character once.
Texts are in escaped form (`goutf8`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, Literal, NamedTuple, NoReturn

from .gostrconv import parse_float
from .goutf8 import go_bytes, replace_invalid

MAX_DEPTH = 10000

Kind = Literal["array", "bool", "null", "number", "object", "string"]


class Node(NamedTuple):
    """A JSON value as written. `value` is a list of nodes, a list of members, the decoded string, the source of a
    number, a bool, or None."""

    kind: Kind
    value: Any


class Member(NamedTuple):
    """A member of an object; `source` is its key as written, without the quotes."""

    key: str
    source: str
    node: Node


class JSONSyntaxError(ValueError):
    """`str(e)` is Go's text."""


class NumberOverflow(ValueError):
    """A number beyond float64; `str(e)` is its source."""


_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_HEX = re.compile(r"[0-9a-fA-F]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_LITERALS: dict[str, tuple[str, Node]] = {
    "t": ("true", Node("bool", True)),
    "f": ("false", Node("bool", False)),
    "n": ("null", Node("null", None)),
}
_QUOTED = {
    "'": r"\'", "\\": r"\\", "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
}  # fmt: skip
_END = "unexpected end of JSON input"


def _fail(text: str, pos: int, where: str) -> NoReturn:
    """The error at `pos`. At the end of the text Go hands its scanner one more space."""
    char = chr(go_bytes(text[pos])[0]) if pos < len(text) else " "
    if char in _QUOTED:
        shown = _QUOTED[char]
    elif char < " " or char == "\x7f":
        shown = f"\\x{ord(char):02x}"
    elif "\x80" <= char <= "\xa0" or char == "\xad":
        shown = f"\\u{ord(char):04x}"
    else:
        shown = char
    raise JSONSyntaxError(f"invalid character '{shown}' {where}")


def _need(text: str, pos: int, where: str) -> NoReturn:
    """As `_fail`, where the end of the text is an error of its own."""
    if pos >= len(text):
        raise JSONSyntaxError(_END)
    _fail(text, pos, where)


def _string(text: str, pos: int) -> tuple[str, int]:
    """The decoded string whose opening quote is before `pos`, and the position after its closing quote."""
    try:
        value, end = scanstring(text, pos, True)
    except JSONDecodeError:
        _string_error(text, pos)
    return (value if value.isascii() else replace_invalid(value)), end


def _string_error(text: str, pos: int) -> NoReturn:
    while True:
        pos = _match(_PLAIN, text, pos)
        if pos >= len(text):
            raise JSONSyntaxError(_END)
        if text[pos] != "\\":
            _fail(text, pos, "in string literal")
        char = text[pos + 1 : pos + 2]
        if char == "u":
            end = min(_match(_HEX, text, pos + 2), pos + 6)
            if end < pos + 6:
                _fail(text, end, r"in \u hexadecimal character escape")
            pos = end
        elif char and char in '"\\/bfnrt':
            pos += 2
        else:
            _fail(text, pos + 1, "in string escape code")


def _match(pattern: re.Pattern[str], text: str, pos: int) -> int:
    found = pattern.match(text, pos)
    return found.end() if found else pos


def _number(text: str, pos: int) -> int:
    """Where the number at `pos` ends."""
    found = _NUMBER.match(text, pos)
    if found is None:
        _fail(text, pos + 1, "in numeric literal")  # behind a minus sign
    end = found.end()
    following = text[end : end + 1]
    if following == "." and not found[1] and not found[2]:
        _fail(text, end + 1, "after decimal point in numeric literal")
    if following in ("e", "E") and not found[2]:
        signed = text[end + 1 : end + 2] in ("+", "-")
        _fail(text, end + 2 if signed else end + 1, "in exponent of numeric literal")
    return end


def _scalar(text: str, pos: int) -> tuple[Node, int]:
    char = text[pos : pos + 1]
    if char == '"':
        value, end = _string(text, pos + 1)
        return Node("string", value), end
    if char in _LITERALS:
        word, node = _LITERALS[char]
        for i, letter in enumerate(word):
            if text[pos + i : pos + i + 1] != letter:
                _fail(text, pos + i, f"in literal {word} (expecting '{letter}')")
        return node, pos + len(word)
    if char and char in "-0123456789":
        end = _number(text, pos)
        return Node("number", text[pos:end]), end
    _need(text, pos, "looking for beginning of value")


def _key(text: str, pos: int) -> tuple[str, str, int]:
    """A key whose opening quote is at `pos`, its source, and the position after the colon."""
    if text[pos : pos + 1] != '"':
        _need(text, pos, "looking for beginning of object key string")
    key, end = _string(text, pos + 1)
    source = text[pos + 1 : end - 1]
    end = _match(_BLANK, text, end)
    if text[end : end + 1] != ":":
        _need(text, end, "after object key")
    return key, source, end + 1


def parse(text: str) -> Node:
    """The one JSON value that `text` is. Raises `JSONSyntaxError`."""
    stack: list[Node] = []  # open arrays and objects
    keys: list[tuple[str, str]] = []  # the key under which each open value but the first of an object will be stored
    pos = _match(_BLANK, text, 0)
    while True:
        # At `pos` a value begins.
        char = text[pos : pos + 1]
        if char == "[" or char == "{":
            if len(stack) == MAX_DEPTH:
                _fail(text, pos, "exceeded max depth")
            node = Node("array" if char == "[" else "object", [])
            pos = _match(_BLANK, text, pos + 1)
            if text[pos : pos + 1] != ("]" if char == "[" else "}"):
                stack.append(node)
                if char == "{":
                    key, source, pos = _key(text, pos)
                    keys.append((key, source))
                    pos = _match(_BLANK, text, pos)
                continue
            pos += 1
        else:
            node, pos = _scalar(text, pos)
        # A value has ended: store it, and close what closes after it.
        while stack:
            parent = stack[-1]
            in_object = parent.kind == "object"
            if in_object:
                parent.value.append(Member(*keys.pop(), node))
            else:
                parent.value.append(node)
            pos = _match(_BLANK, text, pos)
            char = text[pos : pos + 1]
            if char == ",":
                pos = _match(_BLANK, text, pos + 1)
                if in_object:
                    key, source, pos = _key(text, pos)
                    keys.append((key, source))
                    pos = _match(_BLANK, text, pos)
                break
            if char != ("}" if in_object else "]"):
                _need(text, pos, "after object key:value pair" if in_object else "after array element")
            pos += 1
            node = stack.pop()
        else:
            pos = _match(_BLANK, text, pos)
            if pos < len(text):
                _fail(text, pos, "after top-level value")
            return node


def number(source: str) -> float:
    """A JSON number as float64. Raises `NumberOverflow`."""
    # Short ones have no exponent that Go would read differently.
    value = float(source) if len(source) < 100 else parse_float(source)
    if value is None or value in (math.inf, -math.inf):
        raise NumberOverflow(source)
    return value


def to_any(node: Node, number: Callable[[str], Any] = number) -> Any:
    """What Go's `any` holds: `str`, `float`, `bool`, None, list, dict (last duplicate wins).

    Raises `NumberOverflow` for the first number out of range, in text order.
    """
    result: list[Any] = [None]
    todo: list[tuple[Node, Any, Any]] = [(node, result, 0)]
    while todo:
        (kind, value), parent, place = todo.pop()
        if kind == "array":
            parent[place] = items = [None] * len(value)
            todo.extend((value[i], items, i) for i in range(len(value) - 1, -1, -1))
        elif kind == "object":
            members: dict[str, Any] = {}
            parent[place] = members
            todo.extend((member.node, members, member.key) for member in reversed(value))
        elif kind == "number":
            parent[place] = number(value)
        else:
            parent[place] = value
    return result[0]
