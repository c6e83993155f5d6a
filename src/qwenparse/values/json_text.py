"""JSON text: reading it within limits, and telling its parts apart when it is cut or faulty.

Python's decoder does the reading. Added here are what it lacks for text that nobody vouches for: a limit of depth and
of digits that is the same on every CPython and at every depth of the caller's stack, and no `NaN` or `Infinity`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple

JSON_WS: Final = " \t\n\r"
MAX_DEPTH: Final = 500
"""Arrays and objects within each other that are read; CPython 3.11 gives up near 1,000, less the caller's stack."""
MAX_DIGITS: Final = 4300
"""Digits of an integer; CPython's default limit (`sys.set_int_max_str_digits`)."""

_STRING_OR_BRACKET: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_STRING_BODY: Final = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_SCALAR: Final = re.compile(r"[-0-9a-zA-Z+.]+")
_WS_RUN: Final = re.compile(r"[ \t\n\r]*")
_MARKS: Final = re.compile(r'"|\\.?')
_NEEDS_CARE: Final = re.compile(r'"|\\.?|[\x00-\x1f]', re.DOTALL)
_HALF_ESCAPE: Final = re.compile(r"\\u[0-9a-fA-F]{0,3}\Z")
_HIGH_SURROGATE: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


class LimitExceeded(ValueError):
    """The text is JSON, or may be, but deeper or longer than is read."""


quote: Final = encode_basestring
"""A JSON string of any `str`; non-ASCII stays as it is, lone surrogates too. (C code: called for each piece.)"""


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS + digits.startswith("-"):
        raise LimitExceeded(f"an integer of more than {MAX_DIGITS} digits")
    try:
        return int(digits)
    except ValueError:  # the interpreter was given a lower limit
        raise LimitExceeded("an integer longer than this interpreter reads") from None


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_STRICT: Final = json.JSONDecoder(parse_int=_integer, parse_constant=_constant)
_LENIENT: Final = json.JSONDecoder(parse_int=_integer, parse_constant=_constant, strict=False)


def loads(text: str, *, strict: bool = True) -> Any:
    """The value of a JSON text. `strict=False` allows raw control characters inside strings.

    Raises `LimitExceeded` for more than `MAX_DEPTH` levels or `MAX_DIGITS` digits, another `ValueError` for what is not
    JSON. Linear in the length of the text.
    """
    if depth_exceeds(text, MAX_DEPTH):
        raise LimitExceeded(f"nested deeper than {MAX_DEPTH}")
    try:
        return (_STRICT if strict else _LENIENT).decode(text)
    except RecursionError:  # little is left of the caller's stack
        raise LimitExceeded("nested deeper than this interpreter reads") from None


def depth_exceeds(text: str, limit: int) -> bool:
    """Whether brackets outside strings are open more than `limit` deep anywhere."""
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        first = text[token.start()]
        if first in "[{":
            depth += 1
            if depth > limit:
                return True
        elif first in "]}":
            depth -= 1
    return False


class ControlEscaper:
    """Passes JSON text through, in any pieces, with control characters inside strings written as escapes."""

    __slots__ = ("_escaped", "_in_string")

    def __init__(self) -> None:
        self._in_string = False
        self._escaped = False  # the last character was a backslash that takes the next one

    def feed(self, text: str) -> str:
        """The same piece, escaped; the very object if nothing changed."""
        if text.isprintable():  # no control characters: only the state changes
            if '"' in text or "\\" in text or self._escaped:
                self._pass(text)
            return text
        out: list[str] = []
        done = 0
        in_string = self._in_string
        start = 1 if self._escaped else 0
        self._escaped = False
        for token in _NEEDS_CARE.finditer(text, start):
            at = token.start()
            char = text[at]
            if char == '"':
                in_string = not in_string
            elif char == "\\":
                self._escaped = token.end() - at == 1
            elif in_string:
                out.append(text[done:at])
                out.append(quote(char)[1:-1])
                done = at + 1
        self._in_string = in_string
        if not out:
            return text
        out.append(text[done:])
        return "".join(out)

    def _pass(self, text: str) -> None:
        if text:
            marks = _MARKS.findall(text, 1 if self._escaped else 0)
            if marks.count('"') & 1:
                self._in_string = not self._in_string
            self._escaped = marks[-1:] == ["\\"]


def escape_controls(text: str) -> str:
    """`text`, JSON but for raw control characters inside strings, as JSON."""
    return ControlEscaper().feed(text)


def object_in_string(source: str) -> str | None:
    """The object's source inside a JSON string that holds one, decoded once; None if the string holds none.

    >>> object_in_string('"{\\\\"a\\\\": 1}"')
    '{"a": 1}'
    """
    if not source.startswith('"'):
        return None
    try:
        text = str(loads(source, strict=False)).strip(JSON_WS)
        if text.startswith("{") and text.endswith("}"):
            loads(text, strict=False)
            return text
    except LimitExceeded:
        return text  # an object that is not read, but was written
    except ValueError:
        pass
    return None


def unquote_cut(source: str) -> str:
    """What a JSON string says as far as it was written; `""` if it cannot be read.

    Half an escape at the end, or half a surrogate pair, is left out.
    """
    end = _STRING_BODY.match(source, 1).end()  # type: ignore[union-attr]  # the pattern matches anywhere
    body = source[1:end]
    if source[end : end + 1] != '"':
        body = _without(_HIGH_SURROGATE, _without(_HALF_ESCAPE, body))
    try:
        return str(loads(f'"{body}"', strict=False))
    except ValueError:
        return ""


def _without(escape: re.Pattern[str], body: str) -> str:
    found = escape.search(body, max(0, len(body) - 6))
    if found is None:
        return body
    before = body[: found.start()]
    backslashes = len(before) - len(before.rstrip("\\"))
    return body if backslashes % 2 else before


class Member(NamedTuple):
    """One member at the top level of an object: its key decoded, the source of its value as far as it goes."""

    key: str
    source: str
    whole: bool


def members(source: str) -> Iterator[Member]:
    """The members of an object whose value began, in order, duplicates too.

    The object may be cut anywhere, or faulty: then the members before that are given. A string that holds an object is
    decoded once first. Anything else has no members. Linear, at any depth.
    """
    source = source.lstrip(JSON_WS)
    if source.startswith('"'):
        source = unquote_cut(source).lstrip(JSON_WS)
    if not source.startswith("{"):
        return
    at = 1
    while True:
        at = _skip_ws(source, at)
        if source[at : at + 1] != '"':
            return
        end, whole = _value_end(source, at)
        if not whole:
            return
        try:
            key = str(loads(source[at:end], strict=False))
        except ValueError:
            return
        at = _skip_ws(source, end)
        if source[at : at + 1] != ":":
            return
        at = _skip_ws(source, at + 1)
        end, whole = _value_end(source, at)
        if end == at:
            return
        yield Member(key, source[at:end], whole)
        at = _skip_ws(source, end)
        if not whole or source[at : at + 1] != ",":
            return
        at += 1


def _skip_ws(source: str, at: int) -> int:
    return _WS_RUN.match(source, at).end()  # type: ignore[union-attr]  # the pattern matches anywhere


def _value_end(source: str, at: int) -> tuple[int, bool]:
    """Where the value that begins at `at` ends, and whether it is whole. It ends at `at` if none begins there."""
    first = source[at : at + 1]
    if first == '"':
        end = _STRING_BODY.match(source, at + 1).end()  # type: ignore[union-attr]  # the pattern matches anywhere
        whole = source[end : end + 1] == '"'
        return (end + 1, True) if whole else (len(source), False)
    if first and first in "[{":
        depth = 0
        for token in _STRING_OR_BRACKET.finditer(source, at):
            char = source[token.start()]
            if char in "[{":
                depth += 1
            elif char in "]}":
                depth -= 1
                if not depth:
                    return token.end(), True
        return len(source), False
    if first and first in "-0123456789tfn":
        end = _SCALAR.match(source, at).end()  # type: ignore[union-attr]  # `first` matches
        # A number at the very end may go on; a keyword cannot.
        return end, end < len(source) or source[at:end] in ("true", "false", "null")
    return at, False
