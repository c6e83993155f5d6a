"""The recorded arguments of a call: mappings and issues (docs/format.md, typed values 7 and 8)."""

import json

import pytest

from qwenparse.schema import ToolSet
from qwenparse.values import arguments, arguments_json, json_arguments, json_literals, literals

READ = ToolSet.of(
    [{"name": "read", "parameters": {"properties": {"path": {"type": "string"}, "n": {"type": "integer"}}}}]
).get("read")


def test_typed_arguments_in_the_order_written():
    recorded = [("n", "3", True), ("path", "007", True), ("x", "[1]", True)]
    values, issues = arguments(recorded, READ)
    assert list(values.items()) == [("n", 3), ("path", "007"), ("x", [1])]
    assert issues == []
    assert literals(recorded) == {"n": "3", "path": "007", "x": "[1]"}


def test_an_undeclared_tool_has_unknown_types():
    assert arguments([("n", "3", True), ("o", "{}", True)], None) == ({"n": "3", "o": {}}, [])


def test_v11_no_arguments():
    assert arguments([], READ) == ({}, [])
    assert literals([]) == {}
    assert arguments_json([], READ, complete=True) == "{}"


def test_each_mismatch_is_an_issue():
    values, issues = arguments([("n", "three", True), ("path", "x", True), ("n", "four", True)], READ)
    assert values == {"n": "four", "path": "x"}
    assert sorted(issues) == ["duplicate-parameter", "type-mismatch", "type-mismatch"]


def test_a_null_that_is_not_declared_is_none_and_a_mismatch():
    assert arguments([("n", "null", True)], READ) == ({"n": None}, ["type-mismatch"])


def test_of_a_name_given_twice_the_last_counts_in_the_place_of_the_first():
    recorded = [("n", "1", True), ("path", "a", True), ("n", "2", True)]
    values, issues = arguments(recorded, READ)
    assert list(values.items()) == [("n", 2), ("path", "a")]
    assert issues == ["duplicate-parameter"]
    assert list(literals(recorded).items()) == [("n", "2"), ("path", "a")]
    text = arguments_json(recorded, READ, complete=True)
    assert text == '{"n": 1, "path": "a", "n": 2}'
    assert json.loads(text) == values


def test_the_earlier_literal_shows_until_the_later_one_ends():
    recorded = [("path", "a", True), ("path", "b", False)]
    assert arguments(recorded, READ) == ({"path": "a"}, ["duplicate-parameter"])
    assert literals(recorded) == {"path": "a"}
    once_ended = [("path", "a", True), ("path", "b", True), ("path", "c", False)]
    assert literals(once_ended) == {"path": "b"} == arguments(once_ended, READ)[0]


def test_a_name_given_three_times_has_two_issues():
    assert arguments([("path", "a", True)] * 3, READ)[1] == ["duplicate-parameter"] * 2


def test_a_cut_literal_is_converted_without_a_mismatch():
    assert arguments([("n", "3", False)], READ) == ({"n": 3}, [])
    assert arguments([("n", "-", False)], READ) == ({"n": "-"}, [])
    assert literals([("n", "-", False)]) == {"n": "-"}


def test_max_held():
    assert arguments([("n", "1234", True), ("path", "1234", True)], READ, max_held=3) == (
        {"n": "1234", "path": "1234"},
        ["type-mismatch"],
    )


def test_the_json_dialect_is_not_typed_again():
    recorded = [(None, '{"n": "3", "path": 5, "x": null}', True)]
    assert arguments(recorded, READ) == ({"n": "3", "path": 5, "x": None}, [])
    assert literals(recorded) == {"n": '"3"', "path": "5", "x": "null"}


def test_json_literals_keep_quotes_and_escapes():
    assert json_literals('{"cmd": "ls\\n"}') == {"cmd": '"ls\\n"'}


def test_json_duplicates():
    recorded = [(None, '{"a": 1, "b": 2, "a": 3}', True)]
    values, issues = arguments(recorded, READ)
    assert list(values.items()) == [("a", 3), ("b", 2)] and issues == ["duplicate-parameter"]
    assert list(literals(recorded).items()) == [("a", "3"), ("b", "2")]
    assert json_literals('{"a": "x", "a": "y') == {"a": '"x"'}
    assert json_arguments('{"a": "x", "a": "y', False) == {"a": "x"}


@pytest.mark.parametrize(
    ("source", "lits", "values"),
    [
        ('{"cmd": "ls",', {"cmd": '"ls"'}, {"cmd": "ls"}),
        ('{"cmd": "ls"', {"cmd": '"ls"'}, {"cmd": "ls"}),
        ('{"cmd": "ls', {"cmd": '"ls'}, {}),
        ('{"cmd": "ls", "n": 1', {"cmd": '"ls"', "n": "1"}, {"cmd": "ls"}),
        ('{"cmd": "ls", "n": 1}', {"cmd": '"ls"', "n": "1"}, {"cmd": "ls", "n": 1}),
        ('{"cmd": ', {}, {}),
        ("{", {}, {}),
        ("", {}, {}),
        ('{"a": {"b": [1, 2', {"a": '{"b": [1, 2'}, {}),
        ('{"a": [1,], "b": 2}', {"a": "[1,]", "b": "2"}, {"b": 2}),
        ('{"a": [True], "b": 2}', {"a": "[True]", "b": "2"}, {"b": 2}),
        ('{"a": [NaN], "b": 01, "c": 2 ', {"a": "[NaN]", "b": "01", "c": "2"}, {"c": 2}),
        ('"{\\"cmd\\": \\"l', {"cmd": '"l'}, {}),
        ('"{\\"cmd\\": \\"l\\", \\"n\\": 1', {"cmd": '"l"', "n": "1"}, {"cmd": "l"}),
        ("[1]", {}, {}),
        ("null", {}, {}),
    ],
)
def test_a_cut_or_faulty_json_object(source, lits, values):
    assert json_literals(source) == lits
    assert json_arguments(source, False) == values
    assert arguments([(None, source, False)], READ)[0] == values


@pytest.mark.parametrize("closed", [True, False])
def test_a_string_that_holds_an_object_is_decoded_once(closed):
    source = json.dumps(json.dumps({"cmd": 'say "x"\n', "o": '{"a": 1}'}))
    assert json_arguments(source, closed) == {"cmd": 'say "x"\n', "o": '{"a": 1}'}
    assert json_literals(source) == {"cmd": '"say \\"x\\"\\n"', "o": '"{\\"a\\": 1}"'}


@pytest.mark.parametrize("closed", [True, False])
def test_json_values_beyond_the_limits_are_their_source(closed):
    deep, digits = "[" * 100_000 + "]" * 100_000, "1" * 5000
    assert json_arguments(f'{{"a": {deep}, "b": {digits}, "c": "x"}}', closed) == {"a": deep, "b": digits, "c": "x"}


@pytest.mark.parametrize(
    "source", ["[" * 100_000, '{"a":' * 100_000, '"' * 99_999, "\\" * 99_999, "", "\ud800", "\0", '{"\0']
)
def test_hostile_sources_raise_nothing(source):
    for closed in (True, False):
        assert isinstance(json_arguments(source, closed), dict)
        assert isinstance(arguments([(None, source, closed), ("k", source, closed)], READ)[0], dict)
    json_literals(source)
