"""Numbers as Go reads and writes them: `strconv.ParseInt`, `strconv.ParseFloat`, float64 to int64, `%v`."""

from __future__ import annotations

import re
from typing import Literal

Arch = Literal["amd64", "arm64"]

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1

_INT = re.compile(r"[+-]?0*([0-9]*)")
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_HEX_DIGITS = r"[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
_DECIMAL = re.compile(rf"([+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS}))(?:[eE]([+-]?)({_DIGITS}))?")
_HEX = re.compile(
    rf"([+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS}))[pP]([+-]?)({_DIGITS})"
)
_INF = float("inf")
_SPECIAL = re.compile(r"([+-]?)inf(?:inity)?|nan", re.IGNORECASE | re.ASCII)


def parse_int(text: str) -> int | None:
    """`strconv.ParseInt(text, 10, 64)`: optional sign, ASCII digits, within int64; None for an error."""
    found = _INT.fullmatch(text)
    if found is None or text in ("", "+", "-") or len(found[1]) > 19:
        return None
    value = int(found[1] or "0")
    if text[0] == "-":
        value = -value
    return value if INT64_MIN <= value <= INT64_MAX else None


def parse_float(text: str) -> float | None:
    """`strconv.ParseFloat(text, 64)`; None for an error (bad syntax, or out of range), 0 on underflow.

    Underscores, hexadecimal floats with a binary exponent, infinities and NaN are accepted as Go accepts them.
    Of an exponent Go reads at most five significant digits.
    """
    if found := _DECIMAL.fullmatch(text):
        mantissa, sign, exponent = found.groups()
        value = float(f"{_plain(mantissa)}e{sign or ''}{_capped(exponent or '0')}")
        return None if value in (_INF, -_INF) else value
    if found := _HEX.fullmatch(text):
        mantissa, sign, exponent = found.groups()
        try:
            return float.fromhex(f"{_plain(mantissa)}p{sign}{_capped(exponent)}")
        except OverflowError:
            return None
    if found := _SPECIAL.fullmatch(text):
        if found[1] is None:
            return float("nan")
        return -_INF if found[1] == "-" else _INF
    return None


def _plain(mantissa: str) -> str:
    return mantissa.replace("_", "")


def _capped(exponent: str) -> str:
    return exponent.replace("_", "").lstrip("0")[:5] or "0"


def float_to_int64(value: float, arch: Arch) -> int:
    """Go's conversion `int64(value)` of a float64 that is no NaN.

    Outside int64 the result is the processor's: `amd64` gives the smallest int64, `arm64` saturates.
    """
    if -9223372036854775808.0 <= value < 9223372036854775808.0:
        return int(value)
    return INT64_MAX if arch == "arm64" and value > 0 else INT64_MIN


def shortest_digits(value: float) -> tuple[str, str, int]:
    """Sign, shortest digits that round-trip, and the decimal exponent of the first digit, of a finite float."""
    text = repr(value)
    sign = "-" if text[0] == "-" else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    first = len(whole) - 1 - (len(whole + fraction) - len(digits)) + int(exponent or "0")
    digits = digits.rstrip("0")
    return (sign, digits, first) if digits else (sign, "0", 0)


def positional(sign: str, digits: str, exponent: int) -> str:
    """The number without an exponent."""
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return f"{sign}{digits}{'0' * (exponent + 1 - len(digits))}"
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def scientific(sign: str, digits: str, exponent: int, width: int) -> str:
    """The number with one digit before the point and an exponent of at least `width` digits, always signed."""
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):0{width}d}"


def format_v(value: float) -> str:
    """A finite float64 under `fmt`'s `%v`: exponent form below 1e-4 and from 1e6 on."""
    sign, digits, exponent = shortest_digits(value)
    if not -4 <= exponent < 6:
        return scientific(sign, digits, exponent, 2)
    return positional(sign, digits, exponent)
