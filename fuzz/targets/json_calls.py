"""The JSON lexer of the core against Python's `json`, on the argument object of a call.

Tolerated, one by one: control characters inside strings are accepted (docs/format.md 5), `NaN` and `Infinity` are not;
keys are compared as written, so inputs with an escape in a key are left out; so is nesting that Python's decoder
cannot follow.
"""

from __future__ import annotations

import json
from typing import Any

from fuzz.checks import whole
from fuzz.settings import settings
from qwenparse import Policy
from qwenparse.values.literals import MAX_HELD

NATIVE = True
MIN_EDGES = 1300

HEAD = '{"name": "sh", "arguments": '


class _Constant(Exception):
    pass


def _constant(name: str) -> Any:
    raise _Constant(name)


def _pairs(pairs: list[tuple[str, Any]]) -> Any:
    return pairs or {}


DECODER = json.JSONDecoder(strict=False, parse_constant=_constant, object_pairs_hook=_pairs)


def one(data: bytes) -> None:
    """`data`: header and what stands behind `"arguments": `, the closing brace included."""
    s, body = settings(data)
    text = HEAD + body.decode("utf-8", "surrogateescape")
    if text.count("[") + text.count("{") > 400:
        return
    s = s._replace(format="qwen3", start="content", tools=0, stop="none", policy=Policy(), max_held=MAX_HELD)
    turn = whole(s, "<tool_call>\n" + text)
    try:
        value, end = DECODER.raw_decode(text)
    except (ValueError, _Constant) as error:
        if "4300" in str(error):
            return
        value, end = None, -1
    faults = {i.code for i in turn.issues}
    if end < 0:
        call = turn.calls[0]
        assert not call.complete or "broken-json" in faults, f"json refuses {text!r}, the core does not"
        return
    if any("\\" in key for key in _keys_written(text[:end])):
        return
    call = turn.calls[0]
    first = next(v for k, v in value if k == "arguments")
    others = [v for k, v in value if k in ("arguments", "parameters")]
    chosen = next((v for v in others if v is not None), None)
    expected = chosen is None or _is_object(chosen) or (isinstance(chosen, str) and _holds_object(chosen))
    assert call.complete == expected, f"{text!r}: json reads {chosen!r}, complete is {call.complete}"
    if first is not None and _is_object(first) and call.complete:
        assert text[len(HEAD) :].lstrip(" \t\n\r").startswith(call.arguments_recorded[0][1])


def _is_object(value: Any) -> bool:
    return value == {} or (isinstance(value, list) and bool(value) and isinstance(value[0], tuple))


def _holds_object(text: str) -> bool:
    try:
        return _is_object(DECODER.decode(text))
    except (ValueError, _Constant):
        return False


def _keys_written(text: str) -> list[str]:
    """The strings directly before a colon, at any depth, as written."""
    keys, i = [], 0
    while (i := text.find('"', i)) >= 0:
        start = i + 1
        i = start
        while i < len(text) and text[i] != '"':
            i += 2 if text[i] == "\\" else 1
        if text[i + 1 :].lstrip(" \t\n\r").startswith(":"):
            keys.append(text[start:i])
        i += 1
    return keys
