"""JSON that is cut, faulty, deep or full of control characters."""

import json

import pytest

from qwenparse.values import json_text, object_in_string
from qwenparse.values.json_text import ControlEscaper, LimitExceeded, Member, depth_exceeds, escape_controls, members


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{"a": "x\ny"}', '{"a": "x\\ny"}'),
        ('{\n\t"a":\r\n1}', '{\n\t"a":\r\n1}'),
        ('{"a\x01": "\x00\x1f\t\b\f\r"}', '{"a\\u0001": "\\u0000\\u001f\\t\\b\\f\\r"}'),
        ('{"a": "\\"\n\\\\"\n}', '{"a": "\\"\\n\\\\"\n}'),
        ('{"a": "\\\\\\\\", \n"b": "\n"}', '{"a": "\\\\\\\\", \n"b": "\\n"}'),
        ('{"a": "\u2028\u00a0\x7f\ud800é"}', '{"a": "\u2028\u00a0\x7f\ud800é"}'),
        ('{"a": "\n', '{"a": "\\n'),
        ("", ""),
    ],
)
def test_control_characters_inside_strings_are_escaped_however_cut(source, expected):
    assert escape_controls(source) == expected
    escaper = ControlEscaper()
    assert "".join(escaper.feed(char) for char in source) == expected
    for cut in range(len(source) + 1):
        escaper = ControlEscaper()
        assert escaper.feed(source[:cut]) + escaper.feed("") + escaper.feed(source[cut:]) == expected


def test_a_piece_without_control_characters_is_passed_as_the_same_object():
    piece = 'some "long" text\\n'
    assert ControlEscaper().feed(piece) is piece


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{}", []),
        ('{"cmd": "ls"}', [("cmd", '"ls"', True)]),
        ('{"cmd": "ls\\n"', [("cmd", '"ls\\n"', True)]),
        ('{"cmd": "ls', [("cmd", '"ls', False)]),
        ('{"cmd": "ls\\"', [("cmd", '"ls\\"', False)]),
        ('{"cmd": "ls\\', [("cmd", '"ls\\', False)]),
        ('{"cmd": "ls",', [("cmd", '"ls"', True)]),
        ('{"cmd": "ls",}', [("cmd", '"ls"', True)]),
        ('{"cmd": "ls" x', [("cmd", '"ls"', True)]),
        ('{"cmd": "ls", "n"', [("cmd", '"ls"', True)]),
        ('{"cmd": "ls", "n": ', [("cmd", '"ls"', True)]),
        ('{"n": 1', [("n", "1", False)]),
        ('{"n": 1 ', [("n", "1", True)]),
        ('{"n": 1}', [("n", "1", True)]),
        ('{"n": tru', [("n", "tru", False)]),
        ('{"n": true', [("n", "true", True)]),
        ('{"n": [1, {"x": "]"}', [("n", '[1, {"x": "]"}', False)]),
        ('{"n": [1, {"x": "]"}], "m": {}}', [("n", '[1, {"x": "]"}]', True), ("m", "{}", True)]),
        ('{"n": ["x  ', [("n", '["x  ', False)]),
        (' \n{ "a" :\t1 , "b" : 2 } ', [("a", "1", True), ("b", "2", True)]),
        ('{"a": 1, "a": 2}', [("a", "1", True), ("a", "2", True)]),
        ('{"\\u0061": "\n"}', [("a", '"\n"', True)]),
        ('{"\\x": 1}', []),
        ('{"a": True}', []),
        ("{'a': 1}", []),
        ('{"a" 1}', []),
        ('{"a', []),
        ("{", []),
        ("{1: 2}", []),
        ("[1]", []),
        ("5", []),
        ("null", []),
        ("", []),
        ('"', []),
        ('"{\\"a\\": \\"x\\\\n\\", \\"b\\": 1}"', [("a", '"x\\n"', True), ("b", "1", True)]),
        ('"{\\"a\\": \\"x', [("a", '"x', False)]),
        ('"{\\"a\\": \\"x\\', [("a", '"x', False)]),
        ('"{\\"a\\": \\"x\\u00', [("a", '"x', False)]),
        ('"{\\"a\\": \\"x\\ud83d', [("a", '"x', False)]),
        ('"{\\"a\\": \\"x\\ud83d\\u', [("a", '"x', False)]),
        ('"{\\"a\\": \\"x\\ud83d\\ude00', [("a", '"x😀', False)]),
        ('"{\\"a\\": \\"x\\\\\\\\u', [("a", '"x\\\\u', False)]),
        ('"{\\"a\\": \\"x\\\\\\\\ud83d', [("a", '"x\\\\ud83d', False)]),
        ('"\\q{', []),
        ('"[1]"', []),
        ('"\\"{}\\""', []),
    ],
)
def test_members_of_a_cut_or_faulty_object(source, expected):
    assert list(members(source)) == [Member(*member) for member in expected]


def test_deep_sources_are_told_apart():
    deep = "[" * 200_000 + "]" * 200_000
    assert list(members(f'{{"a": {deep}, "b": 1}}')) == [("a", deep, True), ("b", "1", True)]
    assert list(members('{"a": ' + "[" * 200_000)) == [("a", "[" * 200_000, False)]
    assert list(members('{"a":' * 200_000)) == [("a", ('{"a":' * 199_999), False)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"{\\"a\\": 1}"', '{"a": 1}'),
        ('" {}\\n"', "{}"),
        ('"{\\"a\\": \\"x\ny\\"}"', '{"a": "x\ny"}'),
        ('"{\\"a\\": 1"', None),
        ('"{\\"a\\": 1,}"', None),
        ('"[1]"', None),
        ('""', None),
        ('"{}', None),
        ('"{}" x', None),
        ('"\\"{}\\""', None),
        ('{"a": 1}', None),
        ("[" * 1000, None),
        ("", None),
        ("null", None),
    ],
)
def test_object_in_string(source, expected):
    assert object_in_string(source) == expected


def test_an_object_in_a_string_may_be_deeper_than_is_read():
    inner = '{"a":' * 600 + "1" + "}" * 600
    assert object_in_string(json.dumps(inner)) == inner


@pytest.mark.parametrize(
    ("text", "limit", "exceeds"),
    [
        ("[[]]", 2, False),
        ("[[]]", 1, True),
        ("[][][]", 1, False),
        ('["[[["]', 1, False),
        ('["\\"[[["]', 1, False),
        ("]][[", 1, False),
    ],
)
def test_depth(text, limit, exceeds):
    assert depth_exceeds(text, limit) is exceeds


@pytest.mark.parametrize("text", ["[" * 501 + "]" * 501, "[" + "1" * 4301 + "]", "-" + "1" * 4301])
def test_limits_are_told_from_faults(text):
    with pytest.raises(LimitExceeded):
        json_text.loads(text)


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "-Infinity", "", "[1,]", '"\n"', "\ufeff[]", "{'a': 1}", "[1] x"]
)
def test_what_is_not_json(text):
    with pytest.raises(ValueError) as raised:
        json_text.loads(text)
    assert not isinstance(raised.value, LimitExceeded)


def test_integers_at_the_limit_are_read():
    assert json_text.loads("-" + "9" * 4300) == -int("9" * 4300)
