"""One spelling for every JSON value that clients hold to be the same, for digests.

Keys sorted at every level, numbers by their decimal value (`1`, `1.0`, `1e0` are one, `0.1` is not a float), of two
equal keys the last, strings as Unicode text. The same on every CPython; nothing here raises for what a client sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, Final

from ..values.json_text import MAX_DEPTH, depth_exceeds

_NUMBER: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_EXPONENT_DIGITS: Final = 1000


class _Number(str):
    """A number as written."""

    __slots__ = ()


class _TooDeep(ValueError):
    pass


_decode: Final = json.JSONDecoder(
    parse_int=_Number, parse_float=_Number, parse_constant=_Number, strict=False
).decode


def text_of(text: str) -> str:
    """`text` as a client sends it over JSON: half a surrogate pair, and so every undecodable byte, is U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _number(written: str) -> str:
    match = _NUMBER.fullmatch(written)
    if match is None:
        return written
    sign, whole, fraction, exponent = match.groups()
    fraction = fraction or ""
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0"
    significant = digits.rstrip("0")
    if exponent is not None and len(exponent) > _EXPONENT_DIGITS:
        return written
    point = int(exponent or 0) - len(fraction) + len(digits) - len(significant)
    return f"{sign}{significant}e{point}"


def _write(value: Any, depth: int) -> str:
    if isinstance(value, _Number):
        return _number(value)
    if isinstance(value, str):
        return encode_basestring(text_of(value))
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return _number(json.dumps(int(value)))
    if isinstance(value, float):
        return _number(repr(float(value))) if isfinite(value) else json.dumps(float(value))
    if depth >= MAX_DEPTH:
        raise _TooDeep
    if isinstance(value, Mapping):
        members = {text_of(_key(key)): member for key, member in value.items()}
        return "{" + ",".join(
            f"{encode_basestring(key)}:{_write(members[key], depth + 1)}" for key in sorted(members)
        ) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_write(member, depth + 1) for member in value) + "]"
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _key(key: Any) -> str:
    """A key as json.dumps writes it."""
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, (bool, int, float)):
        return json.dumps(key)
    raise TypeError(f"{type(key).__name__} is no key of a JSON object")


def canonical(value: Any) -> str:
    """The one spelling of a JSON value given as Python objects. What is no JSON value has a spelling of its own."""
    try:
        return _write(value, 0)
    except (_TooDeep, TypeError, ValueError, RecursionError) as error:
        return f"!{type(value).__name__}:{type(error).__name__}:{_shown(value)}"


def _shown(value: Any) -> str:
    try:
        return text_of(repr(value))
    except (RecursionError, ValueError):
        return ""


def canonical_arguments(arguments: Any) -> str:
    """The one spelling of a call's arguments, given as mapping or as JSON text; missing and blank ones are `{}`.

    >>> canonical_arguments('{"b": 1.0, "a": "\\\\u00e9"}') == canonical_arguments({"a": "\u00e9", "b": 1})
    True
    """
    if arguments is None:
        return "{}"
    if not isinstance(arguments, str):
        return canonical(arguments)
    if not arguments.strip():
        return "{}"
    if depth_exceeds(arguments, MAX_DEPTH):
        return f"?{text_of(arguments)}"
    try:
        value = _decode(arguments)
    except (ValueError, RecursionError):
        return f"?{text_of(arguments)}"
    # A text that is no object is not what a client got from a complete call; it must not equal one.
    return canonical(value) if isinstance(value, dict) else f"?{canonical(value)}"
