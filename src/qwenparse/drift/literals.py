"""Why a value is written differently."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..replay.canonical_json import canonical, canonical_arguments
from ..values.json_text import loads
from ..values.python_literal import read_container
from .report import Cause

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TOKEN = re.compile(r"""\s+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[\[\]{}:,]|[^\s"'\[\]{}:,]+|.""", re.DOTALL)
_BOOLEANS = ("true", "false")
_NULLS = ("null", "none")


def value_cause(before: str, after: str) -> Cause | None:
    """The cause of a changed literal, None if it did not change, `history_edited` if it says something else."""
    if before == after:
        return None
    if before.replace("\r\n", "\n") == after.replace("\r\n", "\n"):
        return "newline_normalised"
    if before.strip() == after.strip():
        return "value_trimmed"
    scalar = _scalar_cause(before.strip(), after.strip())
    if scalar is not None:
        return scalar
    container = _container(before), _container(after)
    if None not in container:
        if canonical(container[0]) == canonical(container[1]) or _close(container[0], container[1]):
            return json_cause(before, after)
        return "history_edited"
    if _unescaped(before) == _unescaped(after):
        return "json_escape"
    return "history_edited"


def _scalar_cause(before: str, after: str) -> Cause | None:
    if _NUMBER.fullmatch(before) and _NUMBER.fullmatch(after):
        return "number_spelling" if float(before) == float(after) else None
    low = before.lower(), after.lower()
    if low[0] == low[1] and low[0] in _BOOLEANS:
        return "bool_spelling"
    return "null_spelling" if low[0] in _NULLS and low[1] in _NULLS else None


def _container(text: str) -> Any:
    if text.strip()[:1] not in ("{", "["):
        return None
    try:
        return loads(text, strict=False)
    except ValueError:
        return read_container(text)


def _close(one: Any, other: Any) -> bool:
    """Equal but for numbers that went through a float."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        try:
            return float(one) == float(other)
        except OverflowError:
            return False
    return bool(one == other)


def _unescaped(text: str) -> str:
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text)


def _tokens(text: str) -> Iterator[str]:
    return (match[0] for match in _TOKEN.finditer(text))


def json_cause(before: str, after: str) -> Cause:
    """The first way in which two JSON texts of one value differ."""
    one, other = list(_tokens(before)), list(_tokens(after))
    for a, b in zip(one, other, strict=False):
        if a == b:
            continue
        if a.isspace() or b.isspace():
            return "json_layout"
        if a[0] in "\"'" and b[0] in "\"'":
            if _string(a) == _string(b):
                return "json_escape" if a[0] == b[0] else "json_layout"
            return "json_key_order"
        return _scalar_cause(a, b) or "json_key_order"
    return "json_layout"


def _string(token: str) -> str:
    if token[0] == "'":
        return token[1:-1].replace("\\'", "'")
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        return token


def arguments_cause(before: str, after: str) -> Cause | None:
    """The cause of a changed argument object of the JSON dialect."""
    if before == after:
        return None
    if canonical_arguments(before) == canonical_arguments(after):
        return json_cause(before, after)
    cause = value_cause(before, after)
    return cause
