"""From a call's text to its name and arguments: typed XML values, and JSON calls with the reference's errors."""

# ruff: noqa: E501  (tables)
from __future__ import annotations

from typing import Any

import pytest

from qwenparse.ollama import ParseError, Parser

UNION = ["string", "boolean", "integer", "number", "array", "object"]


def value(raw: str, schema: Any, arch: Any = "amd64") -> str:
    """The JSON text of one typed argument."""
    tools = [{"function": {"name": "f", "parameters": {"properties": {"a": schema}}}}]
    text = f"<tool_call><function=f><parameter=a>{raw}</parameter></function></tool_call>"
    [call] = Parser("qwen3-coder", tools, arch=arch).add(text).calls
    assert call.arguments_json.startswith('{"a":')
    return call.arguments_json[5:-1]


@pytest.mark.parametrize(("raw", "types", "expected"), [
    ("\n", "string", '""'), ("\n\n", "string", '""'), ("\n\n\n", "string", '"\\n"'), ("\nx\n", None, '"x"'), (" x ", "string", '" x "'),
    ("null", "string", "null"), ("NuLl", None, "null"), (" null", "string", '" null"'), ("nul", "null", '"nul"'), ("ſull", None, '"ſull"'),
    ("TRUE", "boolean", "true"), ("False", ["boolean"], "false"), ("yes", "boolean", "false"), ("yes", ["boolean", "boolean"], '"yes"'),
    ("yes", ["boolean", "string"], '"yes"'), ("1", ["boolean", "integer"], "1"), ("falſe", ["boolean", "string"], '"falſe"'),
    ("+5", "integer", "5"), ("007", "integer", "7"), ("-0", "integer", "0"), ("1.0", "integer", '"1.0"'), ("9223372036854775808", "integer", '"9223372036854775808"'),
    ("9223372036854775807", "integer", "9223372036854775807"), ("1.5", ["integer", "number"], "1.5"), ("5.0", ["integer", "null"], '"5.0"'),
    ("1.0", "number", "1"), ("-0.0", "number", "0"), ("1e21", "number", "-9223372036854775808"), ("1.5e-7", "number", "1.5e-7"), ("9007199254740993", "number", "9007199254740992"),
    ("0x1p-2", "number", "0.25"), ("1_000.5", "number", "1000.5"), ("1e400", "number", '"1e400"'), ("inf", "number", "-9223372036854775808"), ("x", ["number", "array"], '"x"'),
    ("[1, 2.0]", "array", "[1,2]"), (" null\n\n", "array", "null"), ("{}", "array", '"{}"'), ("[]", ["object", "array"], "[]"), ('{"b":1,"a":2}', "object", '{"a":2,"b":1}'),
    ("[1e999]", "array", '"[1e999]"'), ("[1,]", "array", '"[1,]"'), ("[NaN]", "array", '"[NaN]"'), ('["\\ud800"]', "array", '["\ufffd"]'), ("\ufeff[]", "array", '"\ufeff[]"'),
    ("1", "int", '"1"'), ("1", [], '"1"'), ("{}", UNION, "{}"), ("[", UNION, '"["'), ("tru", UNION, '"tru"'), ("5", UNION, "5"), ("5.5", UNION, "5.5"),
    ("[" * 10001 + "]" * 10001, "array", '"' + "[" * 10001 + "]" * 10001 + '"'),
])  # fmt: skip
def test_typed_values(raw: str, types: Any, expected: str) -> None:
    assert value(raw, {} if types is None else {"type": types}) == expected


def test_any_of_replaces_the_type() -> None:
    assert value("5", {"type": "string", "anyOf": [{"type": "integer"}, {"type": ["null"]}]}) == "5"
    assert value("x", {"anyOf": [{"type": "boolean"}]}) == "false"
    assert value("5", {"type": "integer", "anyOf": []}) == "5"
    assert value("5", {"anyOf": [{"anyOf": [{"type": "integer"}]}], "type": "integer"}) == '"5"'


def test_arm64_saturates() -> None:
    assert value("1e19", {"type": "number"}, "arm64") == "9223372036854775807"
    assert value("-inf", {"type": "number"}, "arm64") == "-9223372036854775808"


def test_the_first_tool_of_a_name_counts() -> None:
    tools = [{"function": {"name": "f", "parameters": {"properties": {"a": {"type": t}}}}} for t in ("integer", "string")]
    text = "<tool_call><function=f><parameter=a>1</parameter><parameter=A>1</parameter></function></tool_call>"
    assert Parser("qwen3-coder", tools).add(text).calls[0].arguments_json == '{"a":1,"A":"1"}'


def test_a_repeated_parameter_keeps_its_place_and_takes_the_last_value() -> None:
    text = "<tool_call><function=f><parameter=a>1</parameter><parameter=b>2</parameter><parameter=a>3</parameter></function></tool_call>"
    assert Parser("qwen3-coder").add(text).calls[0].arguments_json == '{"a":"3","b":"2"}'


# ---------------------------------------------------------------------------------------------------------- JSON


def json_call(text: str, name: str = "qwen3") -> Any:
    """(name, arguments_json), or the error without the prefix of `qwen3`."""
    try:
        [call] = Parser(name).add(f"<tool_call>{text}</tool_call>").calls
    except ParseError as error:
        return str(error).removeprefix("failed to parse JSON: ")
    return call.name, call.arguments_json


CLOSING = "Value looks like object, but can't find closing '}' symbol"
ESCAPE = "Encountered an invalid escape sequence in a string"
STRUCT = r'struct { Name string "json:\"name\""; Arguments api.ToolCallFunctionArguments "json:\"arguments\"" }'


@pytest.mark.parametrize(("text", "expected"), [
    ('\u3000{"Name":"f","ARGUMENTſ":{"b":1,"a":2,"b":3}}\x85', ("f", '{"b":3,"a":2}')), ('{"name":"f"}', ("f", "{}")),
    ('{"name":"f","arguments":{"a":1},"arguments":{"b":2}}', ("f", '{"b":2}')), ('{"name":"f","name":null,"x":1e999}', ("f", "{}")),
    ('{"name":"f","arguments":{"a":{"z":1,"b":"\\b"}}}', ("f", '{"a":{"b":"\\b","z":1}}')), ('{"name":"f","index":"x"}', ("f", "{}")),
    ('{"name":"f"}\x1c', "invalid character '\\x1c' after top-level value"), ("{}", "empty function name"), ("null", "empty function name"), ("[]", f"json: cannot unmarshal array into Go value of type {STRUCT}"),
    ("1", f"json: cannot unmarshal number into Go value of type {STRUCT}"), ("true", f"json: cannot unmarshal bool into Go value of type {STRUCT}"),
    ('{"name":1,"arguments":{}}', "json: cannot unmarshal number into Go struct field .name of type string"),
    ('{"name":{},"arguments":"{}"}', CLOSING), ('{"name":"f","arguments":[]}', CLOSING), ('{"name":"f","arguments":1}', CLOSING),
    ('{"name":[],"arguments":{"a":[1e400]}}', "json: cannot unmarshal number 1e400 into Go struct field .arguments of type float64"),
    ('{"name":[],"name":"f"}', "json: cannot unmarshal array into Go struct field .name of type string"),
    ('{"arguments":1', "unexpected end of JSON input"), ("{'name'", "invalid character '\\'' looking for beginning of object key string"),
])  # fmt: skip
def test_json_calls(text: str, expected: Any) -> None:
    assert json_call(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("{}", ("", "{}")), ("null", ("", "{}")), (' {"name":"f"}\n', ("f", "{}")), ("\u3000{}", "invalid character 'ã' looking for beginning of value"),
    ("[]", "json: cannot unmarshal array into Go value of type api.ToolCallFunction"),
    ('{"name":true}', "json: cannot unmarshal bool into Go struct field ToolCallFunction.name of type string"),
    ('{"index":1.5}', "json: cannot unmarshal number 1.5 into Go struct field ToolCallFunction.index of type int"),
    ('{"index":9223372036854775808}', "json: cannot unmarshal number 9223372036854775808 into Go struct field ToolCallFunction.index of type int"),
    ('{"Index":"1","name":1}', "json: cannot unmarshal string into Go struct field ToolCallFunction.index of type int"),
    ('{"index":null,"name":"f"}', ("f", "{}")), ('{"index":-9223372036854775808}', ("", "{}")),
    ('{"arguments":{"a":1e400}}', "json: cannot unmarshal number 1e400 into Go struct field ToolCallFunction.arguments of type float64"),
])  # fmt: skip
def test_json_calls_of_vl(text: str, expected: Any) -> None:
    assert json_call(text, "qwen3-vl-instruct") == expected


@pytest.mark.parametrize(("source", "key"), [
    (r"a\n\u0041\/\"\\\b", 'a\\nA/\\"\\\\\\u0008'), (r"\ud83d\ude00", "😀"), (r"\ud83dzzde00", "😀"), (r"\ud83d\nde00", "😀"),
    (r"\udc00\udc00", "\ufffd"), (r"\ud83dédc00x", "🐀x"), (r"\u00e9", "é"), ("é\\t", "é\\t"),
])  # fmt: skip
def test_argument_keys(source: str, key: str) -> None:
    assert json_call(f'{{"name":"f","arguments":{{"{source}":1}}}}') == ("f", f'{{"{key}":1}}')


@pytest.mark.parametrize("source", [r"\ud83d", r"\ud83d\u0061", r"\ud83dxxdbff", r"\ud83dx\"\"", r"\udc00zz12g4"])
def test_argument_keys_with_half_a_pair_fail(source: str) -> None:
    assert json_call(f'{{"name":[],"arguments":{{"{source}":1}}}}') == ESCAPE


def test_argument_keys_must_be_utf8_and_other_strings_need_not() -> None:
    assert json_call('{"name":"f","arguments":{"é\\n\udcff\udc80":1}}') == "not a valid UTF-8 string (at position 3): é\n\udcff\udc80"
    assert json_call('{"name":"\udcff","arguments":{"a":{"\udcff":"\udcff\\ud800"}}}') == ("\ufffd", '{"a":{"\ufffd":"\ufffd\ufffd"}}')
    assert json_call('{"name":"f","arguments":{"a":1e999,"\\ud800":1}}').endswith("of type float64")
