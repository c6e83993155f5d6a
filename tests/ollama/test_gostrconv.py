"""Numbers as Go reads and writes them."""

# ruff: noqa: E501  (tables)
from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwenparse.ollama.gostrconv import (
    INT64_MAX,
    INT64_MIN,
    float_to_int64,
    format_v,
    parse_float,
    parse_int,
    positional,
    scientific,
    shortest_digits,
)


@pytest.mark.parametrize(("text", "value"), [
    ("0", 0), ("+5", 5), ("-0", 0), ("007", 7), ("-12", -12), ("9223372036854775807", INT64_MAX),
    ("-9223372036854775808", INT64_MIN), ("0" * 5000 + "1", 1),
])  # fmt: skip
def test_integers(text: str, value: int) -> None:
    assert parse_int(text) == value


@pytest.mark.parametrize("text", [
    "", "+", "-", " 5", "5 ", "5\n", "5.0", "1e2", "1_000", "0x10", "9223372036854775808", "-9223372036854775809", "１",
    "٣", "--1", "9" * 5000,
])  # fmt: skip
def test_what_is_no_int64(text: str) -> None:
    assert parse_int(text) is None


@pytest.mark.parametrize(("text", "value"), [
    (".5", 0.5), ("5.", 5.0), ("1_000", 1000.0), ("1e1_0", 1e10), ("-0", -0.0), ("+1.5E+2", 150.0), ("1_0.0_1", 10.01),
    ("0x1p-2", 0.25), ("0x_1p-2", 0.25), ("-0X.8P1", -1.0), ("0x1.8p1", 3.0), ("0x1_0p0", 16.0), ("0x1.p0", 1.0),
    ("inf", math.inf), ("+Inf", math.inf), ("-INFINITY", -math.inf), ("infinity", math.inf), ("1e-400", 0.0),
    ("9007199254740993", 9007199254740992.0), ("1" * 100000 + "e-99999", 1.1111111111111112), ("0e999999999", 0.0),
    ("0x1p-1080", 0.0), ("0.1e1", 1.0), ("1e0_0", 1.0),
])  # fmt: skip
def test_floats(text: str, value: float) -> None:
    got = parse_float(text)
    assert got is not None
    assert struct.pack("d", got) == struct.pack("d", value)


def test_nan_has_no_sign() -> None:
    assert math.isnan(parse_float("NaN") or 0)
    assert parse_float("+nan") is None
    assert parse_float("-nan") is None


@pytest.mark.parametrize("text", [
    "", ".", "+", "e5", "1e", "1e+", "1_.5", "1._5", "_1", "1_", "1__0", "1e_5", "0x10", "0x", "0xp1", "0x1p", "0x.p1", " 1", "1 ",
    "1\n", "1,5", "１", "1e400", "-1e400", "0x1p1024", "infinit", "nan1", "0b1", "1e5_", "0x1_p1", "1e999999999999",
])  # fmt: skip
def test_what_is_no_float(text: str) -> None:
    assert parse_float(text) is None


def test_go_reads_five_digits_of_an_exponent() -> None:
    assert parse_float("0." + "0" * 99999 + "1e100000") == 0.0  # read as e10000
    assert parse_float("0." + "0" * 99998 + "1e99999") == 1.0
    assert parse_float("1e000000000000001") == 10.0


@pytest.mark.parametrize(("value", "amd64", "arm64"), [
    (1.0, 1, 1), (-0.0, 0, 0), (2.0**53, 2**53, 2**53), (-(2.0**63), INT64_MIN, INT64_MIN), (2.0**63, INT64_MIN, INT64_MAX),
    (math.inf, INT64_MIN, INT64_MAX), (-math.inf, INT64_MIN, INT64_MIN), (1e19, INT64_MIN, INT64_MAX),
    (-1e19, INT64_MIN, INT64_MIN), (9223372036854774784.0, 9223372036854774784, 9223372036854774784),
])  # fmt: skip
def test_conversion_to_int64(value: float, amd64: int, arm64: int) -> None:
    assert float_to_int64(value, "amd64") == amd64
    assert float_to_int64(value, "arm64") == arm64


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (-0.0, "-0"), (1.0, "1"), (100000.0, "100000"), (999999.0, "999999"), (999999.5, "999999.5"), (1e6, "1e+06"),
    (1234567.0, "1.234567e+06"), (123456.5, "123456.5"), (0.0001, "0.0001"), (0.00001, "1e-05"), (-1.5e-7, "-1.5e-07"),
    (1e100, "1e+100"), (123456789.0, "1.23456789e+08"), (5e-324, "5e-324"), (0.5, "0.5"), (1e21, "1e+21"),
])  # fmt: skip
def test_percent_v(value: float, text: str) -> None:
    assert format_v(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_written_numbers_read_back(value: float) -> None:
    parts = shortest_digits(value)
    for text in (positional(*parts), scientific(*parts, 1), scientific(*parts, 2), format_v(value)):
        got = parse_float(text)
        assert got is not None
        assert struct.pack("d", got) == struct.pack("d", value)
    assert parts[1] == "0" or (parts[1][0] != "0" and parts[1][-1] != "0")


@given(st.integers())
def test_integers_agree_with_python(value: int) -> None:
    assert parse_int(str(value)) == (value if INT64_MIN <= value <= INT64_MAX else None)


@given(st.from_regex(r"[+-]?0[xX][0-9a-f]{1,20}(\.[0-9a-f]{0,18})?[pP][+-]?[0-9]{1,4}", fullmatch=True))
def test_hexadecimal_floats_agree_with_python(text: str) -> None:
    try:
        expected = float.fromhex(text)
    except OverflowError:
        assert parse_float(text) is None
    else:
        assert parse_float(text) == expected
