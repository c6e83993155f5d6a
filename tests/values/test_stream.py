"""The JSON text of a call in pieces (docs/format.md, typed values, "as JSON text")."""

import time

import pytest
from values.support import TOOL, TOOLS, events, pieces

from qwenparse._events import (
    ArgumentDelta,
    ArgumentEnd,
    ArgumentStart,
    ContentDelta,
    Issue,
    Markup,
    ReasoningDelta,
    ToolCallEnd,
    ToolCallStart,
)
from qwenparse.values import ArgumentsJSON, arguments_json


def stream(key, *texts, closed=True, **kw):
    """The pieces of one argument: at its start, for each text, at its end."""
    return pieces([(key, texts, closed)], cut=lambda literal: literal, **kw)[1:-1]


def test_strings_stream_as_they_come():
    assert stream("s", 'say "', "hi\n", "\\") == ['{"s": "', 'say \\"', "hi\\n", "\\\\", '"']


def test_a_string_may_look_like_anything():
    assert stream("s", "{", '"a": 1}') == ['{"s": "', "{", '\\"a\\": 1}', '"']


def test_unknown_types_stream_unless_a_container_may_begin():
    assert stream("u", "12", "3") == ['{"u": ', '"12', "3", '"']
    assert stream("u", "", "n", "ull") == ['{"u": ', "", '"n', "ull", '"']
    assert stream("u") == ['{"u": ', '""']
    assert stream("u", "{", '"a":1}') == ['{"u": ', "", "", '{"a":1}']
    assert stream("u", "[", "x") == ['{"u": ', "", "", '"[x"']
    assert stream("u", " ", "[1]") == ['{"u": ', '" ', "[1]", '"']
    assert stream("undeclared", "1") == ['{"undeclared": ', '"1', '"']


@pytest.mark.parametrize(
    ("key", "literal", "text"),
    [
        ("i", "230.0", "230.0"),
        ("i", "x", '"x"'),
        ("i", "", '""'),
        ("n", "1e5", "1e5"),
        ("b", "True", "true"),
        ("a", "['a']", '["a"]'),
        ("a", '["x\n"]', '["x\\n"]'),
        ("o", '{"a":  1}', '{"a":  1}'),
        ("in", "NULL", "null"),
        ("sn", "null", "null"),
        ("sn", "None", '"None"'),
        ("so", "5", "5"),
        ("so", "5 apples", '"5 apples"'),
    ],
)
def test_everything_else_waits_for_its_end(key, literal, text):
    assert stream(key, *literal) == [f'{{"{key}": ', *[""] * len(literal), text]


def test_the_wait_is_bounded():
    assert stream("i", "12", "3", "4", "5", max_held=3) == ['{"i": ', "", "", '"1234', "5", '"']
    assert stream("i", "12", "3", max_held=3) == ['{"i": ', "", "", "123"]
    assert stream("u", "[1", "]", " x", max_held=3) == ['{"u": ', "", "", '"[1] x', '"']
    assert stream("sn", "null", max_held=3) == ['{"sn": ', '"null', '"']


def test_separators_order_and_duplicates():
    recorded = [("s", "a", True), ("i", "1", True), ("s", "b", True)]
    assert "".join(pieces(recorded)) == '{"s": "a", "i": 1, "s": "b"}'


def test_keys_are_quoted_and_non_ascii_stays():
    assert "".join(pieces([('ké"y\n', "é\u2028\x7f", True)])) == '{"ké\\"y\\n": "é\u2028\x7f"}'


def test_lone_surrogates_stay():
    assert "".join(pieces([("s", "\udcff\ud83d", True)])) == '{"s": "\udcff\ud83d"}'


def test_no_arguments():
    assert pieces([]) == ["", "{}"]
    assert pieces([], complete=False) == ["", ""]


@pytest.mark.parametrize(
    ("recorded", "text"),
    [
        ([("s", "half a comm", False)], '{"s": "half a comm'),
        ([("i", "12", False)], '{"i": '),
        ([("u", "", False)], '{"u": '),
        ([("u", "{", False)], '{"u": '),
        ([("s", "a", True)], '{"s": "a"'),
        ([("s", "a", True), ("i", "", False)], '{"s": "a", "i": '),
        ([(None, '{"a": "x', False)], '{"a": "x'),
        ([(None, '{"a": 1}', True)], '{"a": 1}'),
        ([(None, '"{\\"a\\"', False)], ""),
    ],
)
def test_an_incomplete_call_is_not_closed_for_looks(recorded, text):
    assert "".join(pieces(recorded, complete=False)) == text
    assert arguments_json(recorded, TOOL, complete=False) == text


def test_a_call_that_counts_as_complete_is_closed_even_if_its_last_argument_was_not():
    assert "".join(pieces([("s", "ls", False)])) == '{"s": "ls"}'
    assert "".join(pieces([("s", "ls", False), ("i", "5", False)])) == '{"s": "ls", "i": 5}'


def test_calls_follow_each_other():
    writer = ArgumentsJSON(TOOLS)
    first = [writer.feed(e) for e in events([("s", "a", False)], complete=False)]
    second = [writer.feed(e) for e in events([("i", "1", True)], index=1)]
    other = [writer.feed(e) for e in events([("i", "1", True)], index=2, name="undeclared")]
    third = [writer.feed(e) for e in events([(None, '{"a": "', False)], index=3, complete=False)]
    fourth = [writer.feed(e) for e in events([(None, '{"a":\n1}', True)], index=4)]
    fifth = [writer.feed(e) for e in events([], index=5)]
    texts = ["".join(p) for p in (first, second, other, third, fourth, fifth)]
    assert texts == ['{"s": "a', '{"i": 1}', '{"i": "1"}', '{"a": "', '{"a":\n1}', "{}"]


def test_other_events_add_nothing():
    writer = ArgumentsJSON(TOOLS)
    writer.feed(ToolCallStart(0, "t"))
    assert writer.feed(ArgumentStart(0, "s")) == '{"s": "'
    for event in (Markup("ws", " "), Issue("cut-tag"), ContentDelta("x"), ReasoningDelta("y")):
        assert writer.feed(event) == ""
    assert writer.feed(ArgumentDelta(0, "z")) == "z"


def test_tools_may_be_given_as_they_are_declared():
    writer = ArgumentsJSON([{"name": "t", "parameters": {"properties": {"i": {"type": "int"}}}}])
    assert "".join(writer.feed(e) for e in events([("i", "07", True)])) == '{"i": 7}'
    writer = ArgumentsJSON()
    assert "".join(writer.feed(e) for e in events([("i", "07", True)])) == '{"i": "07"}'


# ---------------------------------------------------------------------------------------------------- JSON dialect


def test_the_object_of_the_json_dialect_passes_through():
    assert stream(None, '{"a"', ': "x', "\n", '", "n":\n1.0}') == ["", '{"a"', ': "x', "\\n", '", "n":\n1.0}', ""]


def test_an_escape_may_be_split():
    assert stream(None, '{"a": "\\', '"', "\n", "\\", "\\", '"', "\n}") == [
        "", '{"a": "\\', '"', "\\n", "\\", "\\", '"', "\n}", "",
    ]  # fmt: skip


def test_a_string_that_holds_an_object_waits_and_is_decoded_once():
    assert stream(None, '"{\\"a\\": ', '\\"x\\\\n', "\\n", '\\"} "') == ["", "", "", "", "", '{"a": "x\\n\\n"}']
    assert "".join(pieces([(None, '"{}"', True)])) == "{}"


@pytest.mark.parametrize("source", ["", " ", '"', '"x"', '"[1]"', '"{"'])
def test_a_complete_call_without_an_object_has_no_arguments(source):
    assert "".join(pieces([(None, source, True)])) == "{}"


def test_white_space_before_the_object_is_dropped():
    assert stream(None, " ", "\n", " {}") == ["", "", "", "{}", ""]


# ---------------------------------------------------------------------------------------------------- growth


def cost(key, first, piece, count):
    """Processor seconds to stream `count` pieces, the least of three runs."""
    runs = []
    for _ in range(3):
        writer = ArgumentsJSON(TOOLS, max_held=1 << 30)
        todo = [
            ToolCallStart(0, "t"),
            ArgumentStart(0, key),
            ArgumentDelta(0, first),
            *[ArgumentDelta(0, piece)] * count,
        ]
        todo += [ArgumentEnd(0, True), ToolCallEnd(0, True)]
        start = time.process_time()
        for event in todo:
            writer.feed(event)
        runs.append(time.process_time() - start)
    return min(runs)


@pytest.mark.parametrize(
    ("key", "first", "piece"),
    [
        ("s", "", "a"),
        ("s", "", '"\n'),
        ("u", "x", "abc "),
        ("u", "[", "1,"),
        ("u", "[", "["),
        ("a", "[", "'a',"),
        ("i", "", "1"),
        ("n", "1.", "1"),
        ("sn", "", "null"),
        (None, '{"a": "', "abc "),
        (None, '{"a": "', '\\"\n'),
        (None, "{", '"a":{'),
        (None, '"{', '\\"a'),
        (None, '"{', "\\\\"),
        (None, '"{', "["),
    ],
)
def test_time_grows_with_the_text(key, first, piece):
    cost(key, first, piece, 1000)
    assert cost(key, first, piece, 80_000) < 8 * 2 * cost(key, first, piece, 10_000) + 0.005
