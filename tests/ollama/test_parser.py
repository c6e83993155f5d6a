"""The parser's interface, and where the reference's answer depends on how the text was cut."""

# ruff: noqa: E501  (tables)
from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwenparse import (
    ArgumentDelta,
    ArgumentEnd,
    ArgumentStart,
    Delta,
    ParserClosed,
    QwenParseError,
    ToolCallEnd,
    ToolCallStart,
)
from qwenparse.ollama import AddResult, ParseError, Parser, ToolCall

NAMES = ["qwen3-coder", "qwen3.5", "ornith", "qwen3", "qwen3-thinking", "qwen3-vl-instruct", "qwen3-vl-thinking"]
F = "<function=f></function>"
CALL_F = f"<tool_call>{F}</tool_call>"


def outcome(parser: Parser, chunk: str | bytes) -> Any:
    """(content, thinking, call names), or the error."""
    try:
        r = parser.add(chunk)
    except ParseError as error:
        return str(error)
    return r.content, r.thinking, [call.name for call in r.calls]


def run(name: str, text: str, **options: Any) -> list[Any]:
    """The outcome of each chunk; `|` is a border."""
    parser = Parser(name, **options)
    return [outcome(parser, chunk) for chunk in text.split("|")]


def total(name: str, text: str) -> tuple[str, str, list[str]]:
    """What comes of single characters."""
    parser = Parser(name)
    results = [parser.add(char) for char in text]
    return (
        "".join(r.content for r in results), "".join(r.thinking for r in results),
        [call.name for r in results for call in r.calls],
    )  # fmt: skip


# ------------------------------------------------------------------------------------------ dependence on the cuts


def test_an_error_takes_the_content_of_its_chunk_with_it() -> None:
    assert run("qwen3-coder", "a<tool_call></tool_call>") == ["EOF"]
    assert run("qwen3-coder", "a|<tool_call></tool_call>") == [("a", "", []), "EOF"]


def test_a_call_after_unclosed_thinking_is_lost_if_its_chunk_ends_in_a_partial_tag() -> None:
    assert run("qwen3.5", f"x{CALL_F}") == [("", "x", ["f"])]
    assert run("qwen3.5", f"x<tool_call>|{F}</tool_call>") == [("", "x", []), ("", "", ["f"])]
    assert total("qwen3.5", f"x{CALL_F}") == ("", f"x{CALL_F}", [])
    assert run("qwen3.5", f"x<tool_call>\n<|{F[1:]}</tool_call>")[1] == ("", f"\n{F}</tool_call>", [])


def test_a_closing_think_tag_behind_a_call_wins_if_it_is_in_the_same_chunk() -> None:
    text = f"x<tool_call>\n{F}\n</tool_call>\n</think>\nA"
    assert run("qwen3.5", text) == [("A", f"x<tool_call>\n{F}\n</tool_call>", [])]
    assert total("qwen3.5", text) == ("\n</think>\nA", "x", ["f"])


def test_line_numbers_depend_on_the_white_space_in_the_chunk() -> None:
    text = "x<tool_call>\n\n<function=f>\n<parameter=a>\n</tool_call>"
    assert run("qwen3.5", text) == ["XML syntax error on line 3: unexpected EOF"]
    assert run("qwen3.5", "|".join(text))[-1] == "XML syntax error on line 4: unexpected EOF"


def test_a_leading_think_tag_alone_in_its_chunk_keeps_the_line_feed_behind_it() -> None:
    assert run("qwen3-thinking", "<think>\n.") == [("", ".", [])]
    assert run("qwen3-thinking", "<think>|\n.")[1] == ("", "\n.", [])
    assert run("qwen3-thinking", "<think><think>") == [("", "<think>", [])]
    assert run("qwen3-thinking", "<think>|<think>") == [("", "", []), ("", "", [])]
    assert run("qwen3.5", "<think>|\n.") == [("", "", []), ("", ".", [])]


@pytest.mark.parametrize(("name", "call", "later"), [
    ("qwen3-coder", CALL_F, "\n\nhi"), ("qwen3", '<tool_call>{"name":"f"}</tool_call>', "\n\nhi"),
    ("qwen3-vl-instruct", '<tool_call>{"name":"f"}</tool_call>', "hi"),
])  # fmt: skip
def test_white_space_after_a_call(name: str, call: str, later: str) -> None:
    assert run(name, f"{call}\n\nhi") == [("hi", "", ["f"])]
    assert run(name, f"{call}|\n\nhi")[1] == (later, "", [])


def test_half_a_space_is_no_space() -> None:
    parser = Parser("qwen3-coder")
    assert parser.add("a\u3000").content == "a"
    assert [parser.add(chunk).content for chunk in (b"\xe3", b"\x80\x80")] == ["\u3000\udce3", "\udc80\udc80"]


# ----------------------------------------------------------------------------------------------- errors and state


def test_the_parser_goes_on_after_an_error() -> None:
    parser = Parser("qwen3-coder")
    text = f"x {CALL_F}  <tool_call>{{}}</tool_call> y <tool_call><function=h></function></tool_call>z "
    assert outcome(parser, text) == "EOF"
    assert outcome(parser, "more") == (" more", "", [])
    result = parser.add("<tool_call><function=g></function></tool_call>")
    assert [(call.name, call.index) for call in result.calls] == [("g", 1)]


@pytest.mark.parametrize(("name", "index"), [("qwen3", 1), ("qwen3-vl-instruct", 0)])
def test_a_failing_add_uses_indices_only_outside_vl(name: str, index: int) -> None:
    parser = Parser(name)
    with pytest.raises(ParseError):
        parser.add('<tool_call>{"name":"a"}</tool_call><tool_call>x</tool_call>')
    assert [c.index for c in parser.add('<tool_call>{"name":"b"}</tool_call>').calls] == [index]


def test_what_is_held_at_the_end_is_lost() -> None:
    assert run("qwen3", "hello \n|") == [("hello", "", []), ("", "", [])]
    assert run("qwen3", "a <|") == [("a", "", []), ("", "", [])]
    assert run("qwen3.5", " <thi|") == [("", "", []), ("", "", [])]
    assert run("qwen3.5", "a<tool_call>|") == [("", "a", []), ("", "", [])]


@pytest.mark.parametrize("name", NAMES)
def test_done_makes_no_difference(name: str) -> None:
    one, other = Parser(name), Parser(name)
    for chunk in ("a ", "<tool", "_call>", "", " b"):
        assert one.add(chunk, done=True) == other.add(chunk, False)


# ---------------------------------------------------------------------------------------------------- the start


@pytest.mark.parametrize(("name", "think", "prefill", "thinking"), [
    ("qwen3-coder", True, False, False), ("qwen3.5", None, False, True), ("qwen3.5", "low", False, True), ("qwen3.5", False, False, False),
    ("qwen3.5", True, True, False), ("qwen3", True, False, False), ("qwen3-thinking", None, True, True), ("qwen3-thinking", False, False, False),
    ("qwen3-vl-instruct", True, False, False), ("qwen3-vl-thinking", False, False, True), ("qwen3-vl-thinking", True, True, False),
])  # fmt: skip
def test_start_state(name: str, think: Any, prefill: bool, thinking: bool) -> None:
    last = {"role": "assistant", "content": "Sure: "} if prefill else {"role": "user", "content": "Hi"}
    result = Parser(name, think=think, last_message=last).add("text")
    assert (result.content, result.thinking) == (("", "text") if thinking else ("text", ""))


@pytest.mark.parametrize("message", [
    None, {}, {"role": "assistant"}, {"role": "assistant", "content": ""}, {"role": "assistant", "content": None},
    {"role": "assistant", "thinking": "x", "content": ""}, {"role": "user", "content": "x"},
])  # fmt: skip
def test_only_an_assistants_content_is_a_prefill(message: Any) -> None:
    assert Parser("qwen3.5", last_message=message).add("x").thinking == "x"


def test_unknown_options_are_refused() -> None:
    unknown: list[dict[str, Any]] = [{"name": "qwen2"}, {"name": "qwen3.8"}, {"name": "qwen3", "arch": "mips"}]
    for options in unknown:
        with pytest.raises(ValueError, match="unknown") as caught:
            Parser(**options)
        assert isinstance(caught.value, QwenParseError)
    with pytest.raises(ValueError, match=r'^invalid think value: "xhigh" \(must be "high", "medium", "low", "max", true, or false\)$'):
        Parser("qwen3", think="xhigh")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r'^think must be a boolean or string \("high", "medium", "low", "max", true, or false\)$'):
        Parser("qwen3", think=1)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------- the input


def test_a_foreign_surrogate_is_refused_and_changes_nothing() -> None:
    parser = Parser("qwen3-coder")
    parser.add("a ")
    for bad in ("<tool_call>\ud800", "\udfff", "x\udc7f"):
        with pytest.raises(UnicodeEncodeError):
            parser.add(bad)
    assert parser.add("b").content == " b"


def test_a_character_in_halves_comes_out_in_halves() -> None:
    parser = Parser("qwen3-coder")
    results = [parser.add(bytes([byte])).content for byte in "é".encode()]
    assert "".join(results).encode("utf-8", "surrogateescape").decode() == "é"
    assert Parser("qwen3-coder").add("\udcc3\udca9").content == "é"


def test_pieces_around_a_call_join_to_whole_characters() -> None:
    assert Parser("qwen3-coder").add(b"\xc3" + CALL_F.encode() + b"\xa9").content == "é"


def test_what_is_no_text_is_a_type_error() -> None:
    for bad in (None, 3, ["a"]):
        with pytest.raises(TypeError):
            Parser("qwen3").add(bad)  # type: ignore[arg-type]
    assert Parser("qwen3").add(bytearray(b"a")).content == Parser("qwen3").add(memoryview(b"a")).content == "a"  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------- the results

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
    "n": {"type": "number"}, "a": {"type": "array"}, "i": {"type": "integer"}}}}}]  # fmt: skip


def call_with(name: str, value: str) -> ToolCall:
    text = f"<tool_call><function=f><parameter={name}>{value}</parameter></function></tool_call>"
    [call] = Parser("qwen3-coder", TOOLS).add(text).calls
    return call


def test_arguments_are_what_json_gives() -> None:
    call = call_with("a", '[1, 2.5, {"b": "\\u003c", "a": 1e30}]')
    assert call.arguments_json == '{"a":[1,2.5,{"a":1e+30,"b":"\\u003c"}]}'
    assert repr(call.arguments) == repr(json.loads(call.arguments_json)) == "{'a': [1, 2.5, {'a': 1e+30, 'b': '<'}]}"
    assert call.arguments is call.arguments


def test_arguments_that_cannot_be_written() -> None:
    prefix = (
        "json: error calling MarshalJSON for type api.ToolCallFunctionArguments: json: error calling MarshalJSON for type "
        "*orderedmap.Map[string,interface {}]: json: error calling MarshalJSON for type "
        "*orderedmap.OrderedMap[string,interface {}]: "
    )
    for call, error in [
        (call_with("n", "nan"), "json: unsupported value: NaN"),
        (call_with("a", "[" * 10000 + "]" * 10000), "invalid character '[' exceeded max depth"),
    ]:
        assert (call.arguments_json, call.arguments, call.arguments_error) == ("", {}, prefix + error)


def test_deep_arguments_need_no_recursion() -> None:
    call = call_with("a", "[" * 9999 + "1.0,12" + "]" * 9999)
    value = call.arguments["a"]
    for _ in range(9998):
        [value] = value
    assert repr(value) == "[1, 12]"
    assert call.arguments_error is None


def test_null_arguments() -> None:
    [call] = Parser("qwen3").add('<tool_call>{"name":"f","arguments":null}</tool_call>').calls
    assert (call.arguments_json, call.arguments) == ("null", {})


def test_results_compare_and_show_themselves() -> None:
    results = [Parser("qwen3-coder").add("x" + CALL_F) for _ in range(2)]
    assert results[0] == results[1] != Parser("qwen3-coder").add("x")
    assert repr(results[0]) == "AddResult(content='x', thinking='', calls=[ToolCall(name='f', arguments_json='{}', index=0)])"
    assert len({call for r in results for call in r.calls}) == 1
    assert results[0].calls[0] != "f"
    assert results[0] != "f"


def test_each_result_has_its_own_list() -> None:
    parser = Parser("qwen3")
    parser.add("a").calls.append(ToolCall("x", "{}", 0))
    assert parser.add("b").calls == []
    assert parser.add(" ").calls == []


def test_tools_are_not_changed_and_may_be_odd() -> None:
    odd: list[Any] = [
        {}, {"function": None}, {"function": {"name": None}}, {"function": {"name": "f", "parameters": []}}, {"function": {"name": "g", "parameters": {"properties": 3}}},
        {"function": {"name": "h", "parameters": {"properties": {"a": None, "b": {"type": [None, 3]}, "c": {"anyOf": [None, {"type": 1}]}}}}}, None,
    ]  # fmt: skip
    before = copy.deepcopy(odd)
    for name in "fgh":
        text = f"<tool_call><function={name}><parameter=a>1</parameter><parameter=b>1</parameter><parameter=c>1</parameter></function></tool_call>"
        [call] = Parser("qwen3-coder", odd).add(text).calls
        assert call.arguments_json == '{"a":"1","b":"1","c":"1"}'
    assert odd == before


def test_a_parser_can_be_copied() -> None:
    parser = Parser("qwen3.5")
    parser.add("a\n</think>\n\nb <tool")
    other = copy.deepcopy(parser)
    assert parser.add("s").content == other.add("s").content == " <tools"


# ------------------------------------------------------------------------------------------------ feed and close


def test_feed_gives_deltas() -> None:
    parser = Parser("qwen3.5")
    assert parser.feed("\n") is None
    assert parser.feed("Hm") == Delta("\nHm")
    assert parser.feed(b".\n</think>\n\nOk\n") == Delta(".", "Ok")
    assert parser.feed("!") == Delta(None, "\n!")
    delta = parser.feed(CALL_F + CALL_F)
    assert delta is not None
    assert (delta.reasoning, delta.content, delta.issues) == (None, None, ())
    assert [delta.calls[:5], delta.calls[5:]] == [
        (ToolCallStart(i, "f"), ArgumentStart(i), ArgumentDelta(i, "{}"), ArgumentEnd(i, True), ToolCallEnd(i, True)) for i in (0, 1)
    ]
    ids = {event.id for event in delta.calls if isinstance(event, ToolCallStart)}
    assert len(ids) == 2
    assert all(len(i) == 13 and i.startswith("call_") and i[5:].isalnum() and i.islower() for i in ids)
    with pytest.raises(ParseError, match=r"^EOF$"):
        parser.feed("<tool_call></tool_call>")


@pytest.mark.parametrize("stop", ["im_end", "other_stop", "none"])
def test_close_gives_nothing_back_and_ends_the_turn(stop: Any) -> None:
    parser = Parser("qwen3")
    parser.feed("a \n<tool")
    assert parser.close(stop=stop) is None
    assert parser.close() is None
    for use in (parser.feed, parser.add):
        with pytest.raises(ParserClosed):
            use("x")


def test_close_knows_its_stops() -> None:
    with pytest.raises(ValueError, match="unknown stop"):
        Parser("qwen3").close(stop="length")  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------- any input

JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["integer", "array", "number", "boolean"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["function", "name", "parameters", "properties", "type", "anyOf", "a", "f"]), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip
SOUP = st.lists(st.sampled_from([
    "<tool_call>", "</tool_call>", "<think>", "</think>", "<function=f>", "<parameter=a>", "</parameter>", "</function>", "<", ">", "\n", " ",
    '{"name":"f","arguments":{', '"a":', "1", "1e999", "nan", "[", "]", "{", "}", '"', "\\ud800", "\\u", "\x00", '<function name="', '">', "&#", ";",
    "\udcff", "é", ",", "null", "0x1p", "_",
]) | st.text(max_size=3, alphabet=st.characters(exclude_categories=["Cs"]))).map("".join)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(NAMES), st.lists(SOUP | st.binary(max_size=8), max_size=6), st.lists(JSONISH, max_size=3))
def test_nothing_but_parse_errors_is_raised(name: str, chunks: list[str | bytes], tools: list[Any]) -> None:
    parser = Parser(name, tools)
    for chunk in chunks:
        try:
            result = parser.add(chunk)
        except ParseError:
            continue
        assert isinstance(result, AddResult)
        for call in result.calls:
            call.arguments_json.encode()
            call.name.encode()
            assert isinstance(call.arguments, dict)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(NAMES), st.text(alphabet=st.characters(exclude_characters="<", exclude_categories=["Cs"])), st.data())
def test_text_without_tags_survives_any_cut_but_for_its_outer_white_space(name: str, text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    parser = Parser(name)
    got = ""
    for a, b in zip([0, *places], [*places, len(text)], strict=True):
        r = parser.add(text[a:b])
        got += r.content + r.thinking
    assert text.startswith(got)
    assert not text[len(got):].strip("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))
