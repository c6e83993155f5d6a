"""Misuse is a typed error and loses nothing; everything else of the public surface."""

from __future__ import annotations

import copy
import inspect
import pickle

import lexemes
import pytest

import qwenparse
from qwenparse import (
    ArgumentDelta,
    ContentDelta,
    DeltaParser,
    FormatError,
    Issue,
    Markup,
    Parser,
    ParserClosed,
    Policy,
    State,
    parse,
)

CALL = lexemes.CALL


def test_unknown_names_are_format_errors() -> None:
    for make in (
        lambda: Parser("gpt"),
        lambda: parse("", "QWEN3"),
        lambda: Parser("qwen3", start="middle"),  # type: ignore[arg-type]
        lambda: Policy(call_in_reasoning="sometimes"),  # type: ignore[arg-type]
        lambda: Parser("qwen3", tools=[{"type": "function", "function": {}}]),
    ):
        with pytest.raises(FormatError):
            make()


def test_feeding_a_closed_parser() -> None:
    for parser in (Parser("qwen3"), DeltaParser("qwen3")):
        parser.close()
        with pytest.raises(ParserClosed):
            parser.feed("x")
        assert not parser.close(stop="im_end")
        parser.reset()
        assert parser.feed("x")


def test_mixing_str_and_bytes() -> None:
    parser = Parser("qwen3")
    parser.feed("x")
    with pytest.raises(TypeError):
        parser.feed(b"x")
    with pytest.raises(TypeError):
        parser.feed(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        parser.feed_ids([1])
    assert parser.feed("y") and parser.turn.content == "xy"


def test_ids_in_the_wrong_place() -> None:
    from array import array

    with pytest.raises(TypeError, match="feed_ids"):
        Parser("qwen3").feed(array("i", [1, 2]))
    with pytest.raises(TypeError, match="text"):
        Parser.for_prompt(b"<|im_start|>assistant\n")  # type: ignore[arg-type]


def test_a_whole_completion_with_its_own_stop() -> None:
    assert parse("Hi", "qwen2.5", stop="other_stop", stop_text="<|end|>").raw == "Hi<|end|>"
    with pytest.raises(ValueError):
        parse("Hi", "qwen2.5", stop_text="<|end|>")
    with pytest.raises(TypeError):
        qwenparse.Event()


def test_bad_close_arguments() -> None:
    parser = Parser("qwen3")
    with pytest.raises(ValueError):
        parser.close(stop="eos")  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        parser.close(stop="im_end", text="x")
    parser.close(stop="other_stop", text="<|end|>")
    assert parser.turn.raw == "<|end|>" and parser.turn.spans[-1].kind == "stop"


def test_stop_text_is_the_last_region() -> None:
    assert parse("Hi", "qwen2.5", stop="im_end").raw == "Hi<|im_end|>"
    assert parse("Hi", "qwen2.5", stop="other_stop").raw == "Hi<|endoftext|>"
    assert parse("Hi<|im_end|>", "qwen2.5").content == "Hi<|im_end|>"


def test_text_event_is_the_object_that_was_fed() -> None:
    parser = Parser("qwen2.5")
    for piece in ("Hel", "lo", " wörld", " 世界"):
        (event,) = parser.feed(piece)
        assert isinstance(event, ContentDelta) and event.text is piece and event.raw is piece
    parser.feed("\n\n<tool_call>\n<function=sh>\n<parameter=cmd>\n")
    (argument,) = parser.feed("ls -l")
    assert isinstance(argument, ArgumentDelta) and argument.index == 0


def test_nothing_is_a_shared_empty_tuple() -> None:
    parser = Parser("qwen2.5")
    assert parser.feed("") == () and parser.feed("<tool") == () and parser.held == "<tool"
    assert DeltaParser("qwen2.5").feed("") is None


def test_states() -> None:
    parser = Parser("qwen3.5", start="auto")
    seen = [parser.state]
    for piece in ("<think>", "x", "</think>", "\n", CALL[:11], CALL[11:27], CALL[27:45], CALL[45:]):
        parser.feed(piece)
        seen.append(parser.state)
    parser.close()
    assert [*seen, parser.state] == [
        State.START, State.REASONING, State.REASONING, State.CONTENT, State.CONTENT, State.CONTENT, State.FUNCTION,
        State.VALUE, State.CONTENT, State.CLOSED,
    ]  # fmt: skip


def test_copy_is_independent() -> None:
    parser = Parser("qwen3.5", start="content")
    parser.feed("Hi <tool_call>\n<function=sh>\n<parameter=cmd>\nl")
    other = copy.copy(parser)
    parser.feed("s\n</parameter>\n</function>\n</tool_call>")
    other.feed("ong")
    assert parser.turn.calls[0].literals == {"cmd": "ls"} and other.turn.calls[0].literals == {"cmd": "long"}
    assert parser.turn.calls[0].id == other.turn.calls[0].id


def test_ids_of_calls() -> None:
    ids = iter("abc")
    parser = Parser("qwen3.5", start="content", id_factory=lambda: next(ids))
    events = list(parser.feed(CALL + CALL))
    assert [c.id for c in parser.turn.calls] == ["a", "b"]
    assert [e.id for e in events if isinstance(e, qwenparse.ToolCallStart)] == ["a", "b"]
    default = parse(CALL + CALL, "qwen3.5", start="content").calls
    assert default[0].id != default[1].id and all(c.id.startswith("call_") and len(c.id) == 29 for c in default)
    assert parse(CALL, "qwen3.5") == parse(CALL, "qwen3.5"), "ids are no part of equality"


def test_a_parser_fed_from_its_own_id_factory() -> None:
    parser: Parser

    def factory() -> str:
        parser.feed("x")
        return "a"

    parser = Parser("qwen3.5", start="content", id_factory=factory)
    with pytest.raises(RuntimeError):
        parser.feed(CALL)


def test_record_false_keeps_no_turn() -> None:
    parser = Parser("qwen3.5", record=False)
    parser.feed("x")
    with pytest.raises(ValueError):
        parser.turn  # noqa: B018


def test_events_are_values() -> None:
    events = [*Parser("qwen3.5", start="content").feed("Hi " + CALL + "\n"), Issue("cut-call", "x", 3, index=0)]
    for event in events:
        twin = pickle.loads(pickle.dumps(event))
        assert twin == event and hash(twin) == hash(event) and type(event).__name__ in repr(event)
        assert event != 5 and {event: 1}[twin] == 1
    match events[0]:
        case ContentDelta(text):
            assert text == "Hi"
        case _:
            raise AssertionError
    assert ContentDelta("a", 1) != ContentDelta("a", 2) and Markup("ws", " ") != ContentDelta(" ")
    delta = qwenparse.Delta(content="x")
    assert delta and pickle.loads(pickle.dumps(delta)) == delta and not qwenparse.Delta()


def test_for_prompt() -> None:
    opened = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    for tail, state, text in (("<think>\n", State.REASONING, "a"), ("<think>\n\n</think>\n\n", State.CONTENT, "a")):
        parser = Parser.for_prompt(opened + tail, format="qwen3.5")
        assert (parser.state, parser.gen_prefix, parser.position) == (state, tail, 0)
        parser.feed(text)
        assert parser.turn.raw == text
    assert Parser.for_prompt(opened).format.name == "qwen3"
    assert Parser.for_prompt(opened + "<think>\n").format.name == "qwen3.5"
    assert Parser.for_prompt("no turn here", format="qwen3.5").state == State.REASONING
    xml = "<|im_start|>system\n<function=example>\n<|im_end|>\n" + opened
    assert Parser.for_prompt(xml).format.name == "qwen3-coder"
    assert Parser.for_prompt(xml + "<think>\n").format.name == "qwen3.5"
    assert DeltaParser.for_prompt("<tools>" + opened).format.name == "qwen3"


def test_a_call_begun_in_the_prompt_is_reported_whole() -> None:
    prompt = "<|im_start|>assistant\n<tool_call>\n<function=sh>\n<parameter=cmd>\nls"
    parser = Parser.for_prompt(prompt, format="qwen3-coder")
    events = [*parser.feed(" -l\n</parameter>\n</function>\n</tool_call>"), *parser.close(stop="im_end")]
    call = parser.turn.calls[0]
    assert (call.name, call.literals, call.complete) == ("sh", {"cmd": "ls -l"}, True)
    assert call.arguments_json == '{"cmd": "ls -l"}'
    assert [e.raw for e in events[:3]] == ["", "", ""] and all(e.start == 0 for e in events[:3])
    assert parser.turn.raw == " -l\n</parameter>\n</function>\n</tool_call><|im_end|>"


def test_signatures_can_be_read() -> None:
    assert str(inspect.signature(Parser.feed)) == "(self, data, /)"
    assert "stop" in inspect.signature(Parser.close).parameters


def test_turn_views() -> None:
    turn = parse("Plan.\n</think>\n\nHi é\n\n" + CALL, "qwen3.5", stop="im_end")
    message = turn.message()
    assert message["content"] == "Hi é" and message["reasoning_content"] == "Plan."
    assert message["tool_calls"][0]["function"] == {"name": "sh", "arguments": '{"cmd": "ls"}'}
    assert turn.byte_offset(len(turn.raw)) == len(turn.raw_bytes)
    with pytest.raises(ValueError):
        turn.byte_offset(-1)
    assert "Turn(" in repr(turn) and hash(turn) == hash(parse(turn.raw[:-10], "qwen3.5", stop="im_end"))
