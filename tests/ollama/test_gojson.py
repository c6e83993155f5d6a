"""Go's JSON: syntax with error texts, values, and writing."""

# ruff: noqa: E501  (tables)
from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwenparse.ollama.gojson import JSONSyntaxError, NumberOverflow, parse, to_any
from qwenparse.ollama.gojsontext import Ordered, UnsupportedValue, dumps, float64, ordered_key, string
from qwenparse.ollama.goutf8 import escaped

BEGIN = "looking for beginning of value"


@pytest.mark.parametrize(("text", "error"), [
    ("", "unexpected end of JSON input"), (" ", "unexpected end of JSON input"), ("[", "unexpected end of JSON input"),
    ('{"a"', "unexpected end of JSON input"), ('{"a":1', "unexpected end of JSON input"), ('"abc', "unexpected end of JSON input"),
    ("[1,", "unexpected end of JSON input"), ("{", "unexpected end of JSON input"), ('{"a":1,', "unexpected end of JSON input"),
    ("-", "invalid character ' ' in numeric literal"), ("1.", "invalid character ' ' after decimal point in numeric literal"),
    ("1e", "invalid character ' ' in exponent of numeric literal"), ("1e+", "invalid character ' ' in exponent of numeric literal"),
    ("1.5.", "invalid character '.' after top-level value"), ("1e5.1", "invalid character '.' after top-level value"),
    ("[1e5e", "invalid character 'e' after array element"), ("1.5e.", "invalid character '.' in exponent of numeric literal"),
    ("-x", "invalid character 'x' in numeric literal"), ("1.e", "invalid character 'e' after decimal point in numeric literal"),
    ("1e-]", "invalid character ']' in exponent of numeric literal"), ("01", "invalid character '1' after top-level value"),
    ('{"a":01}', "invalid character '1' after object key:value pair"), ("[1 2]", "invalid character '2' after array element"),
    ("tru", "invalid character ' ' in literal true (expecting 'e')"), ("nUll", "invalid character 'U' in literal null (expecting 'u')"),
    ("falsy", "invalid character 'y' in literal false (expecting 'e')"), ("[1,]", f"invalid character ']' {BEGIN}"),
    ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
    ("{a:1}", "invalid character 'a' looking for beginning of object key string"), ('{"a" 1}', "invalid character '1' after object key"),
    ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"), ("{} x", "invalid character 'x' after top-level value"),
    ("'a'", f"invalid character '\\'' {BEGIN}"), ("\\", f"invalid character '\\\\' {BEGIN}"), ("NaN", f"invalid character 'N' {BEGIN}"),
    ('"\x01"', "invalid character '\\x01' in string literal"), ('"a\nb"', "invalid character '\\n' in string literal"),
    ('"\\q"', "invalid character 'q' in string escape code"), ('"\\', "invalid character ' ' in string escape code"),
    ('"\\u12', "invalid character ' ' in \\u hexadecimal character escape"), ('"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
    ('"\\u"', "invalid character '\"' in \\u hexadecimal character escape"), ("\ufeff{}", f"invalid character 'ï' {BEGIN}"),
    ("\xa0", f"invalid character 'Â' {BEGIN}"), ("\x7f", f"invalid character '\\x7f' {BEGIN}"), ("\x85", f"invalid character 'Â' {BEGIN}"),
    ("\udc80", f"invalid character '\\u0080' {BEGIN}"), ("\udcad", f"invalid character '\\u00ad' {BEGIN}"), ("\v", f"invalid character '\\v' {BEGIN}"),
    ('"\\é"', "invalid character 'Ã' in string escape code"), ("[" * 10001, "invalid character '[' exceeded max depth"),
    ("[" * 10000 + "{", "invalid character '{' exceeded max depth"), ('"\\n\\u0041\x1f', "invalid character '\\x1f' in string literal"),
])  # fmt: skip
def test_syntax_errors(text: str, error: str) -> None:
    with pytest.raises(JSONSyntaxError) as caught:
        parse(text)
    assert str(caught.value) == error


@pytest.mark.parametrize(("text", "value"), [
    ("1", 1.0), (" [1 , 2]\r\n\t", [1.0, 2.0]), ('{"a":1,"b":2,"a":3}', {"a": 3.0, "b": 2.0}), ("-0", -0.0), ("[]", []), ("{}", {}),
    ('"\\ud83d\\ude00"', "😀"), ('"\\ud83d"', "\ufffd"), ('"\\ud83d\\u0061"', "\ufffda"), ('"\\ude00\\ud83d"', "\ufffd\ufffd"),
    ('"\\ud83d\\ud83d\\ude00"', "\ufffd😀"), ('"a\udcffb"', "a\ufffdb"), ('"\\u00e9\\/"', "é/"), ("null", None), ("true", True), ('""', ""),
    ('{"a":[{"b":[]}],"":{}}', {"a": [{"b": []}], "": {}}), ("12345678901234567890", 12345678901234567890.0), ("1e-999", 0.0),
])  # fmt: skip
def test_values(text: str, value: Any) -> None:
    assert repr(to_any(parse(text))) == repr(value)


def test_ten_thousand_levels_are_read_and_written() -> None:
    text = "[" * 10000 + "]" * 10000
    value = to_any(parse(text))
    assert dumps(value) == text
    with pytest.raises(UnsupportedValue, match=r"invalid character '\[' exceeded max depth"):
        dumps(Ordered([("a", value)]))


def test_the_first_overflow_in_text_order_is_reported() -> None:
    with pytest.raises(NumberOverflow) as caught:
        to_any(parse('{"a":[1,{"b":2e999}],"c":3e999}'))
    assert str(caught.value) == "2e999"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_reading_agrees_with_python(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert repr(to_any(parse(text))) == repr(json.loads(text))


@given(JSON_VALUES)
def test_writing_reads_back_with_sorted_keys(value: Any) -> None:
    text = dumps(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert to_any(parse(text)) == value
    ordered = json.dumps(value, sort_keys=True)
    assert json.loads(text, object_pairs_hook=list, parse_int=float) == json.loads(ordered, object_pairs_hook=list)


@given(st.text(alphabet='{}[]",:.-+0123456789eEtrufalsn\\ \n\x01\udc80'))
def test_what_python_refuses_is_refused(text: str) -> None:
    try:
        parse(text)
        mine = True
    except JSONSyntaxError:
        mine = False
    try:
        json.loads(text, parse_constant=int)
        python = True
    except ValueError:
        python = False
    assert mine == python


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (-0.0, "-0"), (1.0, "1"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (1.5e-7, "1.5e-7"), (1e-6, "0.000001"),
    (9.99e-7, "9.99e-7"), (-1e100, "-1e+100"), (0.1, "0.1"), (123456789.5, "123456789.5"), (5e-324, "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"), (12345678901234567890.0, "12345678901234567000"),
])  # fmt: skip
def test_floats(value: float, text: str) -> None:
    assert float64(value) == text


@pytest.mark.parametrize(("value", "name"), [(math.nan, "NaN"), (math.inf, "+Inf"), (-math.inf, "-Inf")])
def test_what_cannot_be_written(value: float, name: str) -> None:
    with pytest.raises(UnsupportedValue, match=rf"^json: unsupported value: {name.replace('+', '[+]')}$"):
        dumps([{"a": value}])


def test_strings_and_keys_differ_in_two_escapes() -> None:
    raw = '\x00\x07\b\t\n\v\f\r\x1f"\\<>&/\x7f\u2028\u2029é😀'
    same = '\\u0000\\u0007{}\\t\\n\\u000b{}\\r\\u001f\\"\\\\\\u003c\\u003e\\u0026/\x7f\\u2028\\u2029é😀'
    assert string(raw) == f'"{same.format(*(chr(92) + "b", chr(92) + "f"))}"'
    assert ordered_key(raw) == f'"{same.format(*(chr(92) + "u0008", chr(92) + "u000c"))}"'
    assert dumps(Ordered([("\b", {"\b": "\b"})])) == '{"\\u0008":{"\\b":"\\b"}}'


def test_nested_keys_are_sorted_and_separators_apply_outside_strings() -> None:
    value = Ordered([("b", {"é": 1.0, "z": [1.0, "x,y: z"], "\U00010000": 2, "\uffff": 3}), ("a", None), ("c", Ordered([]))])
    assert dumps(value) == '{"b":{"z":[1,"x,y: z"],"é":1,"\uffff":3,"\U00010000":2},"a":null,"c":{}}'
    assert dumps(value, comma=", ", colon=": ") == '{"b": {"z": [1, "x,y: z"], "é": 1, "\uffff": 3, "\U00010000": 2}, "a": null, "c": {}}'


def test_bytes_that_are_no_text_are_named_one_by_one() -> None:
    with pytest.raises(JSONSyntaxError, match="invalid character 'ÿ' after top-level value"):
        parse(escaped(b"1 \xff"))
