"""Go's strict `encoding/xml` reader, as far as a Qwen XML call can reach it, with its error texts.

The reference hands the reader a text in which only `<function name="…">`, `<parameter name="…">` and their closing
tags are markup, and all the rest is character data (`qwen3coder.go`, `transformToXML`, `parseToolCall`). Reading
therefore goes from tag to tag. Texts are in escaped form (`goutf8`).
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from .goutf8 import replace_invalid


class XMLError(ValueError):
    """`str(e)` is Go's text."""


class Function(NamedTuple):
    """The outermost function: its name, and its parameters in order with their own character data."""

    name: str
    parameters: list[tuple[str, str]]


TAG = re.compile(r'<(/?)(function|parameter)(?:([\t\n\f\r ]+)name="([^"]*)")?>')

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAME_SPECIAL = re.compile(r"[<&\r]")
_ENTITY = re.compile(r"&(?:#(x[0-9a-fA-F]*|[0-9]*)|([a-zA-Z0-9_:.\-\x80-\U0010ffff]*))(;?)")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": '"'}


def _fail(text: str, pos: int, message: str) -> NoReturn:
    raise XMLError(f"XML syntax error on line {1 + text.count(chr(10), 0, pos)}: {message}")


def _illegal(text: str, pos: int, char: str) -> NoReturn:
    _fail(text, pos, f"illegal character code U+{ord(char):04X}")


def _characters(text: str, start: int, end: int) -> str:
    """Character data: line ends become LF, invalid bytes U+FFFD; an illegal character is reported at `end`."""
    data = text[start:end]
    if not data.isascii():
        data = replace_invalid(data)
    if found := _ILLEGAL.search(data):
        _illegal(text, end, found[0])
    return data.replace("\r\n", "\n").replace("\r", "\n") if "\r" in data else data


def _name(text: str, start: int, end: int) -> str:
    """The value of a `name` attribute, whose closing quote is at `end`."""
    out: list[str] = []
    pos = start
    while found := _NAME_SPECIAL.search(text, pos, end):
        at = found.start()
        out.append(text[pos:at])
        if found[0] == "<":
            _fail(text, at, "unescaped < inside quoted string")
        if found[0] == "\r":
            out.append("\n")
            pos = at + 2 if text.startswith("\n", at + 1) else at + 1
            continue
        entity = _ENTITY.match(text, at, end)
        assert entity is not None  # every part of the pattern but `&` may be empty
        char = _character(entity)
        if char is None:
            note = "" if entity[3] else " (no semicolon)"
            _fail(text, entity.end(), f"invalid character entity {entity[0]}{note}")
        out.append(char)
        pos = entity.end()
    out.append(text[pos:end])
    name = "".join(out)
    if found := _ILLEGAL.search(name):
        if "\ud800" <= found[0] <= "\udfff":
            _fail(text, end, "invalid UTF-8")
        _illegal(text, end, found[0])
    return name


def _character(entity: re.Match[str]) -> str | None:
    number, name, semicolon = entity.groups()
    if not semicolon:
        return None
    if number is None:
        return _ENTITIES.get(name)
    digits, base = (number[1:], 16) if number[:1] == "x" else (number, 10)
    if not digits:
        return None
    digits = digits.lstrip("0") or "0"
    code = int(digits, base) if len(digits) <= 7 else 0x110000
    if code > 0x10FFFF:
        return None
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)


def read_function(text: str) -> Function:
    """Decode one `<function>` element, as `xml.Unmarshal` does. Raises `XMLError`.

    Of the outermost function its parameters' own character data is kept; nested elements vanish with their text.
    What follows the outermost closing tag is not looked at.
    """
    stack: list[str] = []
    function = Function("", [])
    data: list[str] = []  # of the open parameter directly under the function
    parameter = ""
    pos = 0
    for tag in TAG.finditer(text):
        run = _characters(text, pos, tag.start())
        if len(stack) == 2 and stack[1] == "parameter":
            data.append(run)
        pos = tag.end()
        closing, element, blank, _ = tag.groups()
        if closing:
            if blank:
                at = tag.start(3)
                form_feed = blank.find("\f")
                at += len(blank) if form_feed < 0 else form_feed
                _fail(text, at, f"invalid characters between </{element} and >")
            if not stack:
                _fail(text, pos, f"unexpected end element </{element}>")
            if stack[-1] != element:
                _fail(text, pos, f"element <{stack[-1]}> closed by </{element}>")
            stack.pop()
            if not stack:
                return function
            if len(stack) == 1 and element == "parameter":
                function.parameters.append((parameter, "".join(data)))
                data.clear()
            continue
        name = ""
        if blank:
            form_feed = blank.find("\f")
            if form_feed >= 0:
                _fail(text, tag.start(3) + form_feed, "expected attribute name in element")
            name = _name(text, tag.start(4), tag.end(4))
        if not stack:
            if element != "function":
                raise XMLError("expected element type <function> but have <parameter>")
            function = Function(name, [])
        elif len(stack) == 1 and element == "parameter":
            parameter = name
        stack.append(element)
    _characters(text, pos, len(text))
    if not stack:
        raise XMLError("EOF")
    _fail(text, len(text), "unexpected EOF")


def quote_attribute(text: str) -> str:
    """`xml.EscapeText`, for an attribute value."""
    return _SPECIAL.sub(_escape, text)


_SPECIAL = re.compile("[\"'&<>\t\n\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = {
    '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;", "\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;",
}  # fmt: skip


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], "\ufffd")


