"""One literal of the XML dialect to its value and its JSON text, by the types that its parameter may have."""

from __future__ import annotations

import json
import re
from math import isinf
from typing import Any, Final, NamedTuple

from .json_text import MAX_DIGITS, escape_controls, loads, quote
from .python_literal import read_container

MAX_HELD: Final = 1 << 20
"""Code points of a literal that is converted; a longer one is a string."""

_WS: Final = " \t\n\r\v\f"
_JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NUMBER: Final = re.compile(r"([+-]?)(?:([0-9]+)(\.[0-9]*)?|(\.[0-9]+))(?:[eE]([+-]?[0-9]+))?")


class Converted(NamedTuple):
    """What became of a literal."""

    value: Any
    json: str
    """The JSON text of the value: the literal itself where that is JSON."""
    mismatch: bool
    """The literal fits no declared type (issue `type-mismatch`)."""


def convert(literal: str, types: frozenset[str] | None, *, max_held: int = MAX_HELD) -> Converted:
    """The value of a literal, by docs/format.md (typed values). Never raises.

    `types` are JSON Schema type names, None if they are unknown. A literal of more than `max_held` code points is a
    string. Linear in the length of the literal.

    >>> convert("230.0", frozenset({"integer"}))
    Converted(value=230, json='230.0', mismatch=False)
    >>> convert("yes", frozenset({"boolean"}))
    Converted(value='yes', json='"yes"', mismatch=True)
    """
    if not types:
        types = None
        if literal[:1] in ("{", "[") and len(literal) <= max_held:
            return _json_container(literal, types) or _string(literal, False)
        return _string(literal, False)
    if "string" in types:
        if len(types) == 1 or len(literal) > max_held:
            return _string(literal, False)
        return _exact(literal, types) or _string(literal, False)
    if len(literal) > max_held:
        return _string(literal, True)
    return _tolerant(literal, types) or _string(literal, True)


def _string(literal: str, mismatch: bool) -> Converted:
    return Converted(literal, quote(literal), mismatch)


def _exact(literal: str, types: frozenset[str]) -> Converted | None:
    """For unions with string: what is written as JSON writes it."""
    if literal == "null":
        return Converted(None, literal, False) if "null" in types else None
    if literal in ("true", "false"):
        return Converted(literal == "true", literal, False) if "boolean" in types else None
    number = _JSON_NUMBER.fullmatch(literal)
    if number is not None:
        if number[1] is None and number[2] is None:
            return _integer(literal, literal) if "integer" in types or "number" in types else None
        return _float(literal, literal) if "number" in types else None
    if literal[:1] in ("[", "{") and literal[-1] in "]}":
        return _json_container(literal, types)
    return None


def _tolerant(literal: str, types: frozenset[str]) -> Converted | None:
    """For types without string: what Python, SQL or C write is understood too."""
    text = literal.strip(_WS)
    word = text.lower() if len(text) <= 5 else ""
    if word in ("null", "none"):
        return Converted(None, "null", "null" not in types)
    if word in ("true", "false"):
        return Converted(word == "true", word, False) if "boolean" in types else None
    if "integer" in types or "number" in types:
        number = _NUMBER.fullmatch(text)
        if number is not None:
            spelling = text if _JSON_NUMBER.fullmatch(text) else None
            written = _written_out(number)
            if number[3] is None and number[4] is None and number[5] is None:
                return None if written is None else _integer(written, spelling)
            converted = None
            if "integer" in types and written is not None:
                converted = _integer(written, spelling)
            if converted is None and "number" in types:
                converted = _float(text, spelling)
            return converted
    return None if types.isdisjoint(("array", "object")) else _container(text, types)


def _json_container(text: str, types: frozenset[str] | None) -> Converted | None:
    """An array or object in strict JSON."""
    try:
        return _of_type(loads(text), text, types)
    except ValueError:
        return None


def _container(text: str, types: frozenset[str]) -> Converted | None:
    """An array or object in JSON, with control characters inside strings allowed, or as Python writes it."""
    if text[:1] in ("[", "{"):
        try:
            return _of_type(loads(text, strict=False), escape_controls(text), types)
        except ValueError:
            pass
    value = read_container(text)
    return None if value is None else _of_type(value, json.dumps(value, ensure_ascii=False), types)


def _of_type(value: Any, spelling: str, types: frozenset[str] | None) -> Converted | None:
    name = "array" if isinstance(value, list) else "object"
    return Converted(value, spelling, False) if types is None or name in types else None


def _written_out(number: re.Match[str]) -> str | None:
    """An integral number without point and exponent: sign and digits. None if it is not integral, or too long."""
    sign, whole, fraction, bare_fraction, exponent = number.groups()
    fraction = (fraction or bare_fraction or ".")[1:]
    digits = ((whole or "") + fraction).lstrip("0")
    if not digits:
        return "0"
    significant = digits.rstrip("0")
    zeros = len(digits) - len(significant) - len(fraction)
    if exponent is not None:
        size = exponent.lstrip("+-").lstrip("0")
        if len(size) > 9:  # beyond any literal that is held
            return None
        zeros += int((exponent[0] if exponent[0] == "-" else "") + (size or "0"))
    if zeros < 0 or len(significant) + zeros > MAX_DIGITS:
        return None
    return ("-" if sign == "-" else "") + significant + "0" * zeros


def _integer(written: str, spelling: str | None) -> Converted | None:
    """`written` has no leading zeros; `spelling` is the literal if that is a JSON number."""
    if len(written) > MAX_DIGITS + written.startswith("-"):
        return None
    try:
        value = int(written)
    except ValueError:  # the interpreter was given a lower limit
        return None
    # `1e23` is no float exactly: what a client reads must be the value.
    if spelling is None or (not spelling.lstrip("-").isdigit() and float(spelling) != value):
        spelling = written
    return Converted(value, spelling, False)


def _float(text: str, spelling: str | None) -> Converted | None:
    value = float(text)
    if isinf(value):
        return None
    return Converted(value, repr(value) if spelling is None else spelling, False)
