"""How the engines that run chat templates trim text and spell numbers.

Python: Jinja2 under CPython (transformers, vLLM, SGLang, mlx-lm). Go: Ollama's renderers (`strings.TrimSpace`, `%v`,
encoding/json). llama: llama.cpp's own Jinja engine. Measured on CPython 3.11, Go 1.27 and llama.cpp 0c1e57098.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from ..errors import FormatError

_ASCII = "\t\n\v\f\r "
_GO = _ASCII + "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

# A circular value fails all the same (RecursionError); looking for it costs a sixth of the time.
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def _digits(x: float) -> tuple[str, str, int]:
    """Sign, shortest digits and decimal exponent of a finite float: the value is 0.DIGITS * 10**exponent."""
    sign, digits, exponent = Decimal(repr(x)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    assert isinstance(exponent, int)
    return "-" * sign, text.rstrip("0"), exponent + len(text)


def _scientific(digits: str, exponent: int, width: int) -> str:
    point = "." if len(digits) > 1 else ""
    return f"{digits[0]}{point}{digits[1:]}e{'-' if exponent < 0 else '+'}{abs(exponent):0{width}d}"


def _plain(digits: str, exponent: int) -> str:
    if exponent <= 0:
        return f"0.{'0' * -exponent}{digits}"
    whole = digits[:exponent].ljust(exponent, "0")
    return f"{whole}.{digits[exponent:]}" if len(digits) > exponent else whole


def _to_float(x: int | float) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def go_value(x: int | float) -> str:
    """A number on its own, as Go's `%v` writes a float64."""
    f = _to_float(x)
    if not math.isfinite(f):
        return "NaN" if f != f else "+Inf" if f > 0 else "-Inf"
    sign, digits, exponent = _digits(f)
    if not digits:
        return sign + "0"
    short = -4 <= exponent - 1 < 6
    return sign + (_plain(digits, exponent) if short else _scientific(digits, exponent - 1, 2))


def go_json(x: int | float) -> str:
    """A number inside an object or a list, as Go's encoding/json writes a float64."""
    f = _to_float(x)
    if not math.isfinite(f):
        return go_value(f)
    sign, digits, exponent = _digits(f)
    if not digits:
        return sign + "0"
    short = 1e-6 <= abs(f) < 1e21
    return sign + (_plain(digits, exponent) if short else _scientific(digits, exponent - 1, 1))


def llama_number(x: int | float) -> str:
    """A number as llama.cpp reads and writes it: int64 with wrap-around up to 2**64, `%g` for everything else."""
    if isinstance(x, int) and -(2**63) <= x < 2**64:
        return str(int(x) if x < 2**63 else x - 2**64)
    return f"{_to_float(x):g}"


def _key(key: Any, number: Callable[[Any], str]) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return _encode(key)
    if isinstance(key, (int, float)):
        return number(key)
    raise TypeError(f"keys must be str, int, float, bool or None, not {type(key).__name__}")


def _write(x: Any, number: Callable[[Any], str]) -> str:
    """JSON text laid out as `json.dumps` does, numbers spelled by `number`."""
    if isinstance(x, dict):
        return "{" + ", ".join(f"{_encode(_key(k, number))}: {_write(v, number)}" for k, v in x.items()) + "}"
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(_write(v, number) for v in x) + "]"
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return number(x)
    return _encode(x)


class Engine:
    """One engine profile.

    `trim` strips both ends of a body, `strip` is the same for tests of emptiness (it differs for `trim="none"`),
    `json` gives JSON text as the template filter `tojson`, `text` what printing a value gives.
    """

    __slots__ = ("json", "number", "strip", "text", "trim")

    def __init__(self, trim: str, number: str) -> None:
        if trim not in _TRIM:
            raise FormatError(f"unknown trim profile {trim!r}; the profiles are {', '.join(_TRIM)}")
        if number not in _NUMBER:
            raise FormatError(f"unknown number profile {number!r}; the profiles are {', '.join(_NUMBER)}")
        self.trim, self.strip = _TRIM[trim]
        self.number, self.json, self.text = _NUMBER[number]


def _llama_trim(text: str) -> str:
    return text.strip(_ASCII)


def _go_trim(text: str) -> str:
    return text.strip(_GO)


def _untrimmed(text: str) -> str:
    return text


def _python_text(x: Any) -> str:
    return str(x)


def _python_json(x: Any) -> str:
    # What arguments mostly are; an encoder run costs five times as much.
    if type(x) is int:
        return repr(x)
    if x is True:
        return "true"
    if x is False:
        return "false"
    return _encode(x)


def _go_text(x: Any) -> str:
    return go_value(x) if isinstance(x, (int, float)) and not isinstance(x, bool) else str(x)


def _go_encode(x: Any) -> str:
    return go_value(x) if isinstance(x, (int, float)) and not isinstance(x, bool) else _write(x, go_json)


def _llama_text(x: Any) -> str:
    return llama_number(x) if isinstance(x, (int, float)) and not isinstance(x, bool) else str(x)


def _llama_encode(x: Any) -> str:
    return _write(x, llama_number)


_Strip = Callable[[str], str]
_Spell = Callable[[Any], str]
_TRIM: Mapping[str, tuple[_Strip, _Strip]] = {
    "python": (str.strip, str.strip),
    "go": (_go_trim, _go_trim),
    "llama": (_llama_trim, _llama_trim),
    "none": (_untrimmed, str.strip),
}
_NUMBER: Mapping[str, tuple[str, _Spell, _Spell]] = {
    "python": ("python", _python_json, _python_text),
    "go": ("go", _go_encode, _go_text),
    "llama": ("llama", _llama_encode, _llama_text),
}


def get_engine(engine: str | tuple[str, str]) -> Engine:
    """The profile of that name, or of a (trim, number) pair. Raises `FormatError` for any other."""
    if isinstance(engine, str):
        return Engine(engine, engine)
    if isinstance(engine, tuple) and len(engine) == 2 and all(isinstance(part, str) for part in engine):
        return Engine(*engine)
    raise FormatError(f"engine={engine!r}: it takes python, go, llama, or a pair (trim, number)")
