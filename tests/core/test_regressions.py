"""Bugs that were, where the case files cannot say them."""

from __future__ import annotations

import sys
from typing import Any

import lexemes
import pytest
from soak import differs

import qwenparse
from qwenparse.testing import Accumulated, check


@pytest.mark.parametrize("rest", ["}", ', "arguments": null}', ', "argu', ", x}"])
@pytest.mark.parametrize("format", ["qwen3", "qwen3.5"])
def test_dialect_of_a_json_call_without_arguments(format: str, rest: str) -> None:
    (call,) = qwenparse.parse('<tool_call>\n{"name": "sh"' + rest, format, start="content").calls
    assert call.dialect == "json"


@pytest.mark.parametrize("format", ["qwen3", "qwen3.5"])
def test_dialect_of_an_xml_call_without_arguments(format: str) -> None:
    (call,) = qwenparse.parse("<tool_call>\n<function=sh>\n", format, start="content").calls
    assert call.dialect == "xml"


def test_dialect_of_a_call_named_in_the_prompt() -> None:
    parser = qwenparse.Parser.for_prompt('<|im_start|>assistant\n<tool_call>\n{"name": "sh"', format="qwen3.5")
    parser.feed(" x")
    parser.close()
    assert [call.dialect for call in parser.turn.calls] == ["json"]


@pytest.mark.parametrize("begun", ["ls", "ls\n</param", "ls\n"])
@pytest.mark.parametrize("make", [qwenparse.Parser, qwenparse.DeltaParser])
def test_a_value_begun_in_the_prompt_is_streamed_whole(make: Any, begun: str) -> None:
    prompt = "<|im_start|>assistant\n<tool_call>\n<function=sh>\n<parameter=cmd>\n" + begun
    parser = make.for_prompt(prompt, format="qwen3-coder")
    seen = Accumulated(parser)
    for piece in (" -l", "\n</parameter>\n</function>\n</tool_call>"):
        seen.add(parser.feed(piece))
    seen.add(parser.close(stop="im_end"))
    (call,) = seen.calls
    assert call["recorded"] == [["cmd", begun + " -l", True]]
    assert call["json"] == parser.turn.calls[0].arguments_json


@pytest.mark.parametrize("make", [qwenparse.Parser, qwenparse.DeltaParser])
def test_a_call_begun_in_the_prompt_is_reported_before_bytes(make: Any) -> None:
    prompt = "<|im_start|>assistant\n<tool_call>\n<function=sh>\n<parameter=cmd>\nls"
    parser = make.for_prompt(prompt, format="qwen3-coder")
    seen = Accumulated(parser)
    seen.add(parser.feed(b" -l"))
    seen.same_as(parser.turn)


@pytest.mark.parametrize("make", [qwenparse.Parser, qwenparse.DeltaParser])
@pytest.mark.parametrize("made", [ValueError, 5, None, b"a"])
def test_a_failing_id_factory_leaves_a_parser_that_can_only_be_reset(make: Any, made: Any) -> None:
    def factory() -> Any:
        if made is ValueError:
            raise ValueError
        return made

    parser = make("qwen3.5", start="content", id_factory=factory)
    with pytest.raises((ValueError, TypeError)):
        parser.feed("Hi " + lexemes.CALL + " x" * 5000)
    assert (parser.held, parser.copy().held) == ("", "")
    for use in (lambda: parser.feed("x"), parser.close, lambda: parser.turn, parser.copy().close):
        with pytest.raises(RuntimeError, match="half read"):
            use()
    parser.reset()
    assert parser.feed("x") and parser.turn.content == "x"


@pytest.mark.parametrize("use", ["feed", "close", "reset", "copy", "held", "turn", "__init__"])
def test_a_parser_used_from_its_own_id_factory_refuses(use: str) -> None:
    refused: list[str] = []

    def factory() -> str:
        try:
            found = getattr(parser, use)
            found(*{"feed": ["x"], "__init__": ["qwen3"]}.get(use, []))
        except RuntimeError as error:
            refused.append(str(error))
        return "a"

    parser = qwenparse.Parser("qwen3.5", start="content", id_factory=factory)
    parser.feed("Hi " + lexemes.CALL + " x")
    parser.close()
    assert len(refused) == 1 and "being fed" in refused[0]
    assert parser.turn == qwenparse.parse("Hi " + lexemes.CALL + " x", "qwen3.5", start="content")


def test_an_interrupt_inside_feed_leaves_a_parser_that_can_only_be_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cut(BaseException):
        pass

    def trace(frame: Any, event: str, arg: Any) -> None:
        if frame.f_code.co_filename.endswith("decoder.py"):
            raise Cut

    parser = qwenparse.Parser("qwen3", start="content")
    sys.setprofile(trace)
    try:
        with pytest.raises(Cut):
            parser.feed("x" * 100_000 + '<tool_call>\n{"name": "s\\u0068", "arguments": {}}')
    finally:
        sys.setprofile(None)
    assert parser.held == "" and parser.copy().held == ""
    with pytest.raises(RuntimeError):
        parser.feed("x")


class Shout(str):
    def __str__(self) -> str:
        return "SHOUT"


def test_a_str_subclass_is_its_characters() -> None:
    assert qwenparse.parse(Shout("abc"), "qwen3").raw == "abc"
    parser = qwenparse.Parser("qwen3", id_factory=lambda: Shout("id"))
    parser.feed(lexemes.CALL)
    assert parser.turn.calls[0].id == "id" and type(parser.turn.calls[0].id) is str


def test_a_buffer_that_cannot_be_read_changes_nothing() -> None:
    parser = qwenparse.Parser("qwen3")
    released = memoryview(b"abc")
    released.release()
    for bad in (memoryview(b"abcd")[::2], released):
        with pytest.raises(ValueError):
            parser.feed(bad)
    assert parser.feed("x")


def test_an_id_factory_is_called() -> None:
    with pytest.raises(TypeError):
        qwenparse.Parser("qwen3", id_factory=5)  # type: ignore[arg-type]


MAX_HELD = [
    ('<tool_call>{"foo' + "y" * 40, 16, False),  # 4: the first key shows it, whatever its length
    ('<tool_call>{"a' + "y" * 40, 4, False),
    ('<tool_call>{"a', 3, False),  # 5: so many may be held
    ('<tool_call>{"ae', 3, True),
    ("<tool_call>{" + "\n" * 40, 16, True),
    ('<tool_call>{"id": 12345}', 13, False),  # closed without a name
    ('<tool_call>{"id": 12345}', 12, True),
    ('<tool_call>{"arguments": "{\\"a\\": }1}"', 27, False),
    ('<tool_call>{"name":"h","arguments":"{\\"cmd\\": \\"ls\\"x', 15, False),  # 6: an escaped quote does not close
    ('<tool_call>{"name":"h","arguments":"{\\"cccccccc\\": \\"<tool_call>', 12, False),  # nor behind the border
    ('<tool_call>{"name":"h","arguments":"{\\"cmd\\": \\"ls\\"}"}', 14, False),
]


@pytest.mark.parametrize(("text", "max_held", "exceeded"), MAX_HELD)
def test_max_held_counts_what_is_held_in_every_cutting(text: str, max_held: int, exceeded: bool) -> None:
    for stop in lexemes.STOPS:
        settings: dict[str, Any] = {"format": "qwen3", "tools": None, "start": "content", "max_held": max_held}
        assert not differs(text, stop, settings)
        check(text, stop=stop, every_prefix=True, **settings)
        codes = [issue.code for issue in qwenparse.parse(text, stop=stop, **settings).issues]
        assert ("window-exceeded" in codes) is exceeded


@pytest.mark.parametrize("value", ["1", "0", "5e3", "-1.5", '"s"', "{}", "true", "[1]"])
@pytest.mark.parametrize(("blanks", "forgiven"), [(1024, True), (1025, False)])
@pytest.mark.parametrize("end", ["</tool_call>", ""])
def test_a_missing_last_brace_is_forgiven_within_a_window(value: str, blanks: int, forgiven: bool, end: str) -> None:
    text = '<tool_call>{"name":"h","arguments":{},"x":' + value + " " * blanks + end
    assert not differs(text, "im_end", {"format": "qwen3", "tools": None, "start": "content"})
    assert qwenparse.parse(text, "qwen3", start="content", stop="im_end").calls[0].complete is forgiven


@pytest.mark.parametrize("tag", ["<parameter=>", '<parameter="">', "<parameter='", "<parameter="])
@pytest.mark.parametrize("stop", lexemes.STOPS)
def test_a_declared_parameter_without_a_name_is_none(tag: str, stop: str) -> None:
    tools = [{"name": "read", "parameters": {"properties": {"": {"type": "string"}, "x": {"type": "string"}}}}]
    text = f"<tool_call><function=read><parameter=x>v\n{tag}"
    for whole in (text, text + "w</parameter></function></tool_call>"):
        assert not differs(whole, stop, {"format": "qwen3.5", "tools": tools, "start": "content"})
    assert qwenparse.parse(whole, "qwen3.5", tools=tools, start="content").calls[0].arguments == {"x": f"v\n{tag}w"}
