"""One literal to its value and JSON text: rows V1-V12 and the rules of docs/format.md (typed values 2-6)."""

import json
import math
import sys

import pytest

from qwenparse.values import convert


def check(types, literal, value, text=None, mismatch=False, **kw):
    found = convert(literal, None if types is None else frozenset(types.split()), **kw)
    expected = json.dumps(literal, ensure_ascii=False) if text is None else text
    assert (found.value, found.json, found.mismatch) == (value, expected, mismatch)
    assert type(found.value) is type(value)
    assert json.loads(found.json) == found.value


@pytest.mark.parametrize(
    "literal",
    [
        "02134",
        "1e5",
        "true",
        "null",
        '{"a": 1}',
        '"q"',
        "5",
        "None",
        "[1]",
        "",
        " x ",
        "a\nb\tc\x01",
        "\0",
        "\ud800",
        "…",
    ],
)
def test_v1_only_string_is_as_written(literal):
    check("string", literal, literal)


@pytest.mark.parametrize(
    ("literal", "value", "text"),
    [
        ("230.0", 230, "230.0"),
        ("007", 7, "7"),
        ("0", 0, "0"),
        ("000", 0, "0"),
        ("-5", -5, "-5"),
        ("-007", -7, "-7"),
        ("-0", 0, "-0"),
        ("+5", 5, "5"),
        ("+0", 0, "0"),
        (" 5\n", 5, "5"),
        ("\v5\f", 5, "5"),
        ("5.", 5, "5"),
        ("1e3", 1000, "1e3"),
        ("1E+3", 1000, "1E+3"),
        ("1.5e1", 15, "1.5e1"),
        ("100e-2", 1, "100e-2"),
        ("-2.50e2", -250, "-2.50e2"),
        (".5e1", 5, "5"),
        ("0e999999999999", 0, "0e999999999999"),
        ("0.000", 0, "0.000"),
        ("12345678901234567890", 12345678901234567890, "12345678901234567890"),
        ("1e22", 10**22, "1e22"),
        ("9" * 4300, None, "9" * 4300),
        ("0" * 5000 + "7", 7, "7"),
        ("-" + "9" * 4300, None, "-" + "9" * 4300),
    ],
)
def test_v2_integer(literal, value, text):
    check("integer", literal, int(text) if value is None else value, text)


@pytest.mark.parametrize(
    ("literal", "value"),
    [("1e23", 10**23), ("9007199254740993.0", 9007199254740993), ("-1e23", -(10**23)), ("1e400", 10**400)],
)
def test_an_integral_literal_that_is_no_float_is_written_out(literal, value):
    check("integer", literal, value, str(value))


@pytest.mark.parametrize(
    "literal",
    [
        "2026-01-15", "5.5", "1e-1", "5 5", "5,5", "1_000", "0x10", "five", "", " ", "-", "+", "+-5", "--5", ".",
        "e5", ".e5", "5e", "1e1.0", "٣", "５", "5\u00a0", "true", "[5]", '"5"', "NaN", "Infinity", "1e999999",
        "1" + "0" * 4300, "1" * 5000, "-" + "1" * 5000, "1e" + "9" * 5000, "1e-" + "9" * 5000, "1e4300", "5\0",
    ],
)  # fmt: skip
def test_v2_v12_what_is_no_integer_stays_a_string(literal):
    check("integer", literal, literal, mismatch=True)


@pytest.mark.parametrize(
    ("literal", "value", "text"),
    [
        ("1.0", 1.0, "1.0"),
        ("1e5", 100000.0, "1e5"),
        ("5", 5, "5"),
        ("-0", 0, "-0"),
        ("-0.0", -0.0, "-0.0"),
        ("1.10", 1.1, "1.10"),
        (".5", 0.5, "0.5"),
        ("-.5", -0.5, "-0.5"),
        ("5.", 5.0, "5.0"),
        ("+5", 5, "5"),
        ("+5.25", 5.25, "5.25"),
        ("007", 7, "7"),
        ("007.5", 7.5, "7.5"),
        (" 5.5 ", 5.5, "5.5"),
        ("1e-400", 0.0, "1e-400"),
        ("12345678901234567890", 12345678901234567890, "12345678901234567890"),
        ("0.1234567890123456789", 0.12345678901234568, "0.1234567890123456789"),
    ],
)
def test_v3_number(literal, value, text):
    check("number", literal, value, text)
    assert math.copysign(1, convert(literal, frozenset({"number"})).value) == math.copysign(1, value)


@pytest.mark.parametrize(
    "literal", ["1e400", "-1e400", "NaN", "nan", "inf", "Infinity", "-Infinity", "1_0", "1" * 5000, "x"]
)
def test_v12_a_number_that_is_not_finite_stays_a_string(literal):
    check("number", literal, literal, mismatch=True)


def test_integer_is_tried_before_number():
    check("integer number", "5.0", 5, "5.0")
    check("integer number", "5.5", 5.5, "5.5")
    check("integer number", "1e400", 10**400, str(10**400))
    check("integer number", "1e5000", "1e5000", mismatch=True)


@pytest.mark.parametrize("literal", ["true", "True", "TRUE", "tRuE", " true\n"])
def test_v4_true(literal):
    check("boolean", literal, True, "true")


@pytest.mark.parametrize("literal", ["false", "False", "FALSE"])
def test_v4_false(literal):
    check("boolean", literal, False, "false")


@pytest.mark.parametrize("literal", ["yes", "no", "1", "0", "on", "", "truee", '"true"', "t"])
def test_v4_nothing_else_is_a_boolean(literal):
    check("boolean", literal, literal, mismatch=True)


@pytest.mark.parametrize("literal", ["NULL", "null", "None", "none", "nUlL", " None "])
def test_v5_null_of_a_union(literal):
    check("integer null", literal, None, "null")


def test_v5_integer_of_a_union():
    check("integer null", "5", 5, "5")


@pytest.mark.parametrize("types", ["integer", "number", "boolean", "array", "object"])
@pytest.mark.parametrize("literal", ["null", "None", "NULL"])
def test_null_is_accepted_where_it_is_not_declared(types, literal):
    check(types, literal, None, "null", mismatch=True)


def test_v6_union_with_string_takes_only_exact_json():
    check("string null", "null", None, "null")
    check("string null", "None", "None")


@pytest.mark.parametrize(
    ("types", "literal", "value"),
    [
        ("string boolean", "true", True),
        ("string boolean", "false", False),
        ("string integer", "5", 5),
        ("string integer", "-0", 0),
        ("string number", "5", 5),
        ("string number", "5.0", 5.0),
        ("string number", "1e5", 1e5),
        ("string array", "[1]", [1]),
        ("string object", '{"a": [null]}', {"a": [None]}),
        ("string null boolean integer number array object", "[ ]", []),
    ],
)
def test_exact_json_in_a_union_with_string(types, literal, value):
    check(types, literal, value, literal)


@pytest.mark.parametrize(
    ("types", "literal"),
    [
        ("string boolean", "True"),
        ("string boolean", "null"),
        ("string boolean", " true"),
        ("string integer", "05"),
        ("string integer", " 5"),
        ("string integer", "5 "),
        ("string integer", "5\n"),
        ("string integer", "+5"),
        ("string integer", "5.0"),
        ("string integer", "1e5"),
        ("string integer", "1" * 5000),
        ("string number", "1e400"),
        ("string number", ".5"),
        ("string number", "NaN"),
        ("string number", "true"),
        ("string array", " [1]"),
        ("string array", "[1] "),
        ("string array", "['a']"),
        ("string array", '{"a": 1}'),
        ("string array", '["a\nb"]'),
        ("string object", '{"a": 1,}'),
        ("string object", '{"a": NaN}'),
        ("string object", "{"),
        ("string object", ""),
        ("string object", '"{}"'),
        ("string null", ""),
    ],
)
def test_anything_else_in_a_union_with_string_is_a_string(types, literal):
    check(types, literal, literal)


@pytest.mark.parametrize(
    ("types", "literal", "value", "text"),
    [
        ("array", "['a.py', 'b.py']", ["a.py", "b.py"], '["a.py", "b.py"]'),
        ("object", '{"a": 1,}', {"a": 1}, '{"a": 1}'),
        ("object", "{'k': None, 't': True}", {"k": None, "t": True}, '{"k": null, "t": true}'),
        ("array", "'a', 2", ["a", 2], '["a", 2]'),
        ("array", "1,", [1], "[1]"),
        ("array", "(1, 2.50)", [1, 2.5], "[1, 2.5]"),
        ("array", '[1,2,  3e0,{"x":"é"}]', [1, 2, 3.0, {"x": "é"}], '[1,2,  3e0,{"x":"é"}]'),
        ("array", "\n[1]\v ", [1], "[1]"),
        ("object", '{"a": "x\ny\t\x01"}', {"a": "x\ny\t\x01"}, '{"a": "x\\ny\\t\\u0001"}'),
        ("object", '{\n"a":\t"x\n"}', {"a": "x\n"}, '{\n"a":\t"x\\n"}'),
        ("object", '{"a": 1, "a": 2}', {"a": 2}, '{"a": 1, "a": 2}'),
        ("array object", "{'a': ()}", {"a": []}, '{"a": []}'),
        ("integer array", "[1]", [1], "[1]"),
        ("array", "['\ud800…\0']".replace("\0", "\\0"), ["\ud800…\0"], '["\ud800…\\u0000"]'),
        ("object", "{1: 'a', 2.5: 'b', None: 'c', True: 'd'}", {"1": "a", "2.5": "b", "null": "c", "true": "d"},
         '{"1": "a", "2.5": "b", "null": "c", "true": "d"}'),
    ],
)  # fmt: skip
def test_v7_containers(types, literal, value, text):
    check(types, literal, value, text)


@pytest.mark.parametrize(
    ("types", "literal"),
    [
        ("object", "for i in x:"),
        ("object", "[1]"),
        ("array", "{'a': 1}"),
        ("array", "{1, 2}"),
        ("object", "1, 2"),
        ("array", "a.py, b.py"),
        ("array", "'a' 'b'"),
        ("array", "5"),
        ("array", ","),
        ("array", "[NaN]"),
        ("array", "[-Infinity]"),
        ("array", "[1e400,]"),
        ("array", "[1j]"),
        ("array", "[b'x']"),
        ("array", "[f'x']"),
        ("array", "[x]"),
        ("array", "[1+1]"),
        ("array", "[*[1]]"),
        ("array", "[" + "1" * 5000 + "]"),
        ("array", "[1"),
        ("array", "[1]]"),
        ("array", "[1] x"),
        ("array", "[\v1]"),
        ("array", "[" * 100_000 + "]" * 100_000),
        ("array", "[" * 100_000),
        ("object", '{"a":' * 100_000),
        ("object", "{'a': 1"),
        ("object", "{[]: 1}"),
        ("object", "{**{}}"),
        ("object", "\ufeff{}"),
        ("object", ""),
    ],
)
def test_v8_what_is_no_container_stays_a_string(types, literal):
    check(types, literal, literal, mismatch=True)


@pytest.mark.parametrize("types", [None, ""])
def test_v9_unknown_types(types):
    check(types, "123", "123")
    check(types, "null", "null")
    check(types, '{"a":1}', {"a": 1}, '{"a":1}')
    check(types, "[1, 2]", [1, 2], "[1, 2]")
    check(types, "[1]\n", [1], "[1]\n")
    for literal in (" [1]", "['a']", "[1,]", "[1] x", "[NaN]", '["\n"]', "{", "", "[" * 100_000 + "]" * 100_000):
        check(types, literal, literal)


def test_v10_an_object_of_a_ref_is_as_written():
    check("object", '{"a":  1.0}', {"a": 1.0}, '{"a":  1.0}')


def test_only_null_declared():
    check("null", "null", None, "null")
    check("null", "nil", "nil", mismatch=True)


def test_a_literal_longer_than_max_held_is_a_string():
    for types, mismatch in (("array", True), ("integer", True), ("string array", False), (None, False)):
        check(types, "[10]", "[10]", mismatch=mismatch, max_held=3)
    check("array", "[10]", [10], "[10]", max_held=4)
    check("array", " [10]", " [10]", mismatch=True, max_held=4)
    check("string", "[10]", "[10]", max_held=1)


@pytest.mark.parametrize(("depth", "read"), [(500, True), (501, False)])
def test_depth_of_json_that_is_read(depth, read):
    found = convert("[" * depth + "]" * depth, frozenset({"array"}))
    assert found.mismatch is not read


def test_brackets_in_strings_are_no_depth():
    literal = json.dumps(["[{" * 1000 + '"\\' + "[" * 1000])
    assert not convert(literal, frozenset({"array"})).mismatch


@pytest.mark.parametrize(("depth", "read"), [(64, True), (65, False)])
def test_depth_of_a_python_literal_that_is_read(depth, read):
    found = convert("[" * (depth - 1) + "(1,)" + "]" * (depth - 1), frozenset({"array"}))
    assert found.mismatch is not read


@pytest.mark.parametrize(("size", "read"), [(65536, True), (65537, False)])
@pytest.mark.parametrize("char", ["x", "é"])
def test_size_of_a_python_literal_that_is_read(size, read, char):
    body = char * ((size - 4) // len(char.encode()))
    literal = f"['{body}{'y' * (size - 4 - len(body.encode()))}']"
    assert len(literal.encode()) == size
    assert convert(literal, frozenset({"array"})).mismatch is not read


def test_nothing_raises_when_little_stack_is_left():
    def dive(n):
        return convert("[" * 400 + "]" * 400, frozenset({"array"})) if n == 0 else dive(n - 1)

    def python(n):
        return convert("(" * 60 + "1," + ")" * 60, frozenset({"array"})) if n == 0 else python(n - 1)

    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    left = sys.getrecursionlimit() - depth
    for call, spare in ((dive, 60), (python, 40)):
        found = call(left - spare)
        assert found.mismatch in (True, False)


def test_an_interpreter_with_a_lower_limit_of_digits_does_not_raise():
    if not hasattr(sys, "set_int_max_str_digits"):  # CPython 3.10.0 to 3.10.6 have no limit
        check("integer", "1" * 1000, int("1" * 1000), "1" * 1000)
        return
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        for literal, types in (("1" * 1000, "integer"), ("1" * 1000, "number"), (f"[{'1' * 1000}]", "array")):
            found = convert(literal, frozenset({types}))
            assert found.mismatch and found.value == literal
        assert convert("1e639", frozenset({"integer"})).value == 10**639
    finally:
        sys.set_int_max_str_digits(before)
