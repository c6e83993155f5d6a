"""The recorded arguments of one call, `(key, literal, closed)` in the order written, as a client wants them.

The key None stands for the JSON dialect: one argument object, its source as the literal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from ..schema import Tool
from .json_text import LimitExceeded, Member, loads, members
from .literals import MAX_HELD, convert

Recorded: TypeAlias = tuple["str | None", str, bool]


def literals(recorded: Iterable[Recorded]) -> dict[str, str]:
    """Each argument as written: the literal, in the JSON dialect the source of its value.

    Of a name given twice the last counts, in the place of the first, once its literal has ended.
    """
    found: dict[str, str] = {}
    for name, literal, closed in _flat(recorded):
        if closed or name not in found:
            found[name] = literal
    return found


def arguments(
    recorded: Iterable[Recorded], tool: Tool | None, *, max_held: int = MAX_HELD
) -> tuple[dict[str, Any], list[str]]:
    """The typed arguments and the codes of their issues (`type-mismatch`, `duplicate-parameter`). Never raises.

    `tool` is None if it is not declared: its types are unknown then. A literal that has not ended is converted as far
    as it goes, without `type-mismatch`; in the JSON dialect it is left out.
    """
    values: dict[str, Any] = {}
    issues: list[str] = []
    names: set[str] = set()
    for key, literal, closed in recorded:
        if key is None:
            values.update(json_arguments(literal, closed))
            for member in members(literal):
                if member.key in names:
                    issues.append("duplicate-parameter")
                names.add(member.key)
            continue
        converted = convert(literal, None if tool is None else tool.types(key), max_held=max_held)
        if key in names:
            issues.append("duplicate-parameter")
        if closed or key not in names:
            values[key] = converted.value
        names.add(key)
        if closed and converted.mismatch:
            issues.append("type-mismatch")
    return values, issues


def json_literals(source: str) -> dict[str, str]:
    """The JSON source of each top-level value of an argument object, which may be cut or faulty. Never raises.

    >>> json_literals('{"cmd": "ls", "n": 1')
    {'cmd': '"ls"', 'n': '1'}
    """
    return literals([(None, source, False)])


def json_arguments(source: str, closed: bool) -> dict[str, Any]:
    """The arguments of the JSON dialect: the object, or only the members whose value is whole. Never raises.

    A value deeper or longer than is read (`json_text.MAX_DEPTH`, `MAX_DIGITS`) is its source, as a string.
    """
    if closed:
        try:
            value = loads(source, strict=False)
            if isinstance(value, dict):
                return value
        except ValueError:
            pass
    values = {}
    for member in members(source):
        if member.whole:
            try:
                values[member.key] = loads(member.source, strict=False)
            except LimitExceeded:
                values[member.key] = member.source
            except ValueError:
                pass
    return values


def _flat(recorded: Iterable[Recorded]) -> Iterator[Member]:
    for key, literal, closed in recorded:
        if key is None:
            yield from members(literal)
        else:
            yield Member(key, literal, closed)
