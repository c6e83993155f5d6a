"""The robust policy: recorded prompts, what is noted, which result belongs to which call, and that calls parse back."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwenparse import Parser, parse
from qwenparse.errors import TemplateError
from qwenparse.prompt import Prompt, render_prompt
from qwenparse.templates import get_renderer
from qwenparse.templates.engines import get_engine
from qwenparse.templates.pieces import Part, Pieces
from qwenparse.templates.recover import recover
from qwenparse.templates.texts import EMPTY_THINK

DATA = Path(__file__).parent.parent / "data"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "robust_policy.jsonl").read_text(encoding="utf-8").split("\n") if line
]
USER: dict[str, Any] = {"role": "user", "content": "q"}


def robust(messages: list[dict[str, Any]], **options: Any) -> Prompt:
    return render_prompt(messages, "qwen3.8", robust=True, **options)


def error(messages: list[dict[str, Any]], **options: Any) -> str:
    with pytest.raises(TemplateError) as caught:
        robust(messages, **options)
    assert caught.value.kind == "template"
    return str(caught.value)


def calls(*ids: str | None) -> dict[str, Any]:
    made = [{**({"id": id} if id else {}), "function": {"name": "f", "arguments": {}}} for id in ids]
    return {"role": "assistant", "content": "", "tool_calls": made}


def result(text: str, id: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "content": text, **({"tool_call_id": id} if id else {})}


def test_there_are_recorded_rows() -> None:
    assert len(ROWS) == 101


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_recorded_prompts(row: dict[str, Any]) -> None:
    messages = copy.deepcopy(row["messages"])
    if "error" in row:
        assert error(messages, tools=row["tools"], **row["kwargs"]) == row["error"]
    else:
        prompt = robust(messages, tools=row["tools"], **row["kwargs"])
        assert prompt.text == row["output"]
        ends = [0, *(segment.end for segment in prompt.segments)]
        assert [segment.start for segment in prompt.segments] == ends[:-1] and ends[-1] == len(prompt.text)
    assert messages == row["messages"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"effort": "low"}, "Unknown option effort."),
        ({"think_markers": "keep"}, "Unexpected value of think_markers: keep."),
        ({"tool_instructions": None}, "Unexpected value of tool_instructions: None."),
        ({"no_user": True}, "Unexpected value of no_user: True."),
        ({"preserve_thinking": "yes"}, "preserve_thinking must be true or false."),
        (
            {"reasoning_effort": ["low"]},
            "Unexpected reasoning effort ['low']. Supported values are high/xhigh, medium, and low.",
        ),
        ({"tools": {"a": 1}}, "Tools must be a list."),
    ],
)  # fmt: skip
def test_what_is_unknown_is_an_error(options: dict[str, Any], text: str) -> None:
    assert error([USER], **options) == text


def test_order_of_checks() -> None:
    bad = {"reasoning_effort": "x", "tool_call_format": "y", "enable_thinking": 1, "tools": "z"}
    messages = [{"role": "system", "content": 5}, {"role": "tool", "content": 6}]
    seen = [error([], **bad, think_markers="?"), error([], **bad)]
    for name in ("reasoning_effort", "tool_call_format", "enable_thinking", "tools"):
        seen.append(error(messages, **bad))
        del bad[name]
    seen.append(error(messages))
    messages[0]["content"] = "s"
    seen.append(error(messages))
    seen.append(error([*messages, USER]))
    assert [text.split(" ", 3)[:3] for text in seen] == [
        ["Unexpected", "value", "of"], ["No", "messages", "provided."], ["Unexpected", "reasoning", "effort"],
        ["Unexpected", "tool", "call"], ["enable_thinking", "must", "be"], ["Tools", "must", "be"],
        ["Unexpected", "content", "type."], ["No", "user", "query"], ["Unexpected", "content", "type."],
    ]  # fmt: skip


def test_removed_markers_are_noted_where_they_stood() -> None:
    messages = [
        {"role": "system", "content": "a<|think_off|>b"},
        {"role": "user", "content": ["x<|think_<|think_on|>off|>", {"type": "image"}, "<|think_on|>y"]},
    ]
    prompt = robust(messages)
    assert [(n.code, n.text, n.message, n.offset) for n in prompt.notes] == [
        ("marker-removed", "<|think_off|> removed", 0, 1),
        ("marker-removed", "<|think_off|> removed", 1, 1),
        ("marker-removed", "<|think_on|> removed", 1, 9),
        ("marker-removed", "<|think_on|> removed", 1, 69),
    ]
    assert "user\nx<|vision_start|><|image_pad|><|vision_end|>y<" in prompt.text
    pads = [s for s in prompt.segments if "image_pad" in prompt.text[s.start : s.end]]
    assert [s.kind for s in pads] == ["frame"]


def test_markers_are_text_on_request() -> None:
    messages = [{"role": "system", "content": "Say <|think_off|>"}, USER]
    prompt = robust(messages, think_markers="text")
    assert "Say <|think_off|>" in prompt.text and prompt.text.endswith("<think>\n") and prompt.notes == ()


def test_a_user_who_changes_the_head_is_noted() -> None:
    messages = [USER, {"role": "assistant", "content": "a"}, {"role": "user", "content": "<|think_off|>b"}]
    notes = robust(messages, allow_user_think_control=True).notes
    assert [(n.code, n.message) for n in notes] == [("head-changed", 2), ("marker-removed", 2)]
    assert [n.code for n in robust(messages).notes] == ["marker-removed"]


def test_markers_are_removed_in_linear_time() -> None:
    def seconds(n: int) -> float:
        text = "<|think_" * n + "<|think_on|>" + "on|>" * n
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            assert "think_" not in robust([{"role": "user", "content": f"x{text}"}], reasoning_effort="medium").text[:40]
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(16_000) / seconds(4_000) < 8


def test_results_are_put_in_the_order_of_their_calls() -> None:
    prompt = robust([USER, calls("a", "b", "c"), result("C", "c"), result("A", "a"), result("B", "b")])
    assert prompt.text.index("\nA\n") < prompt.text.index("\nB\n") < prompt.text.index("\nC\n")
    assert prompt.text.count("<|im_start|>user\n<tool_response>") == 1
    moved = [(n.code, n.message) for n in prompt.notes]
    assert moved == [("tool-result-moved", 3), ("tool-result-moved", 4), ("tool-result-moved", 2)]


@pytest.mark.parametrize(
    ("ids", "sent", "written"),
    [
        (("a", "b"), (("B", "b"), ("x", None)), "xB"),
        (("a", None), (("x", None), ("A", "a")), "Ax"),
        (("a", "a"), (("1", "a"), ("2", "a")), "12"),
        (("a",), (("x", None), ("y", None)), "xy"),
        ((None, None), (("2", "z"), ("1", "z")), "21"),
        (("a", "b"), (("x", None), ("y", None), ("z", None)), "xyz"),
    ],
)
def test_results_without_an_id_take_the_calls_that_are_left(
    ids: tuple[str | None, ...], sent: tuple[tuple[str, str | None], ...], written: str
) -> None:
    text = robust([USER, calls(*ids), *(result(*one) for one in sent)]).text
    places = [text.index(f"<tool_response>\n{letter}\n") for letter in written]
    assert places == sorted(places)


def test_results_of_no_call_are_errors() -> None:
    text = "Tool result does not match a tool call: "
    assert error([USER, calls("a"), result("x", "z")]) == text + "z"
    assert error([USER, calls("a"), result("x", "a"), result("y", "a")]) == text + "a"
    assert error([USER, calls("a"), result("x", "a"), USER, result("y", "a")]) == text + "a"
    assert error([USER, calls("a", None), result("x"), result("y"), result("z", "b")]) == text + "b"


def test_runs_of_results_continue_behind_other_messages() -> None:
    prompt = robust([USER, calls("a", "b"), result("B", "b"), USER, result("A", "a")])
    assert prompt.text.index("\nB\n") < prompt.text.index("\nA\n") and prompt.notes == ()


def test_calls_without_a_result_are_noted() -> None:
    notes = robust([USER, calls("a", "b"), result("B", "b"), calls(None), USER]).notes
    assert [(n.code, n.text, n.message) for n in notes] == [
        ("tool-result-missing", "call 1 has no result", 1),
        ("tool-result-missing", "call 1 has no result", 3),
    ]


def test_scoped_instructions_name_the_thinking_block_only_while_it_is_there() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    fixed, on = robust([USER], tools=tools).text, robust([USER], tools=tools, tool_instructions="scoped").text
    off = robust([USER], tools=tools, tool_instructions="scoped", enable_thinking=False).text
    assert "- You may provide optional" in fixed
    assert "- Plan a function call inside the thinking block; write no other text between" in on
    for text in (on, off):
        assert "- You may provide optional" not in text and "specified\n- " in text
    assert "- Plan a function call" not in off
    json_tail = [robust([USER], tools=tools, tool_call_format="json", tool_instructions=i).text for i in ("template", "scoped")]
    assert json_tail[0] == json_tail[1]


def test_messages_are_data_and_frames_are_not() -> None:
    call = {"function": {"name": "NAME", "arguments": '{"KEY": "VALUE", "n": 5e1}'}}
    messages = [
        {"role": "developer", "content": "DEV"}, {"role": "user", "content": "ASK"},
        {"role": "assistant", "content": "TEXT", "thinking": "WHY", "tool_calls": [call]},
        {"role": "tool", "content": "OUT", "is_error": True},
    ]  # fmt: skip
    for form, inside in (
        ("xml", {"NAME", "KEY", "VALUE", "n", "5e1"}),
        ("json", {'"NAME"', '{"KEY": "VALUE", "n": 5e1}'}),
    ):
        prompt = robust(messages, tool_call_format=form)
        data = {prompt.text[s.start : s.end] for s in prompt.segments if s.kind == "data"}
        assert data == {"DEV", "ASK", "TEXT", "WHY", "OUT"} | inside
        frames = "".join(prompt.text[s.start : s.end] for s in prompt.segments if s.kind != "data")
        assert "[tool error]\n" in frames and prompt.gen_prefix == "<think>\n"


@pytest.mark.parametrize(
    ("content", "want"),
    [
        ("</think>", ("", "")),
        ("a\n</think>", ("a\n", "")),
        ("a\n</think><tool_call>x", ("a\n", "<tool_call>x")),
        ("a</think><tool_call>x", ("a", "<tool_call>x")),
        ("a\n </think>\nb", None),
        ("a</think>\nb", None),
        ("  ```\n</think>\n\n  ```\n</think>\n\nb", ("  ```\n</think>\n\n  ```\n", "\n\nb")),
        ("````\n</think>\n\nb", None),
        ("a </think> b\n</think>\nc", ("a </think> b\n", "\nc")),
    ],
)
def test_recovery(content: str, want: tuple[str, str] | None) -> None:
    assert recover(content) == want


def test_nothing_is_lost_in_recovery() -> None:
    content = "one\n</think>\ntwo\n</think>\n\nthree </think> four"
    text = robust([USER, {"role": "assistant", "content": content}], preserve_thinking=True).text
    assert all(word in text for word in ("one", "two", "three", "four")) and text.count("</think>") == 3


def test_splices_and_what_follows_them() -> None:
    renderer = get_renderer("robust", get_engine("python"), {"allow_user_think_control": True})
    parts = (Part("frame", "<|im_start|>assistant\n"), Part("raw", "RAW"), Part("close", "<|im_end|>\n"))
    history = [USER, calls("a", "b"), result("B", "b"), result("A", "a")]
    spliced = renderer.render(history, splice=lambda index, keep: parts).join()
    assert "assistant\nRAW<|im_end|>\n<|im_start|>user\n\n<tool_response>\nA".replace("\n\n<", "\n<") in spliced
    p = Pieces()
    renderer.follow(p, [result("B", "b"), result("A", "a"), {"role": "user", "content": "<|think_off|>go"}], turn=history[1])
    renderer.open_turn(p)
    assert p.join().startswith("<|im_start|>user\n<tool_response>\nA\n")
    assert p.join().endswith("user\ngo<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n")
    unknown = Pieces()
    renderer.follow(unknown, [result("B", "b"), result("A", "a")])
    assert unknown.join().index("\nB\n") < unknown.join().index("\nA\n")


def test_extended_prompts() -> None:
    prompt = robust([USER], allow_user_think_control=True)
    parser = Parser.for_prompt(prompt.text, format="qwen3.8")
    call = "<tool_call>\n<function=f>\n</function>\n</tool_call>"
    parser.feed(f"x\n</think>\n\n{call}\n{call}")
    parser.close(stop="im_end")
    first, second = (made.id for made in parser.turn.tool_calls)
    off = {"role": "user", "content": "<|think_off|>go"}
    longer = prompt.extend(parser.turn, [result("B", second), result("A", first), off])
    new = longer.text.removeprefix(prompt.text + parser.turn.raw)
    assert new.index("\nA\n") < new.index("\nB\n") and new.endswith("user\ngo<|im_end|>\n<|im_start|>assistant\n" + EMPTY_THINK)
    assert [note.code for note in longer.notes] == ["head-kept", "tool-result-moved", "tool-result-moved", "marker-removed"]
    with pytest.raises(TemplateError, match="does not match a tool call: other"):
        prompt.extend(parser.turn, [result("x", "other")])
    assert prompt.extend(parser.turn, [USER]).text.endswith("<think>\n")
    assert prompt.extend(parser.turn, [USER], enable_thinking=False).text.endswith(EMPTY_THINK)
    marked = robust([{"role": "system", "content": "<|think_on|>"}, USER], enable_thinking=False)
    assert marked.extend(parser.turn, [USER]).text.endswith("<think>\n")


def test_a_message_that_an_earlier_turn_stands_for_keeps_its_calls() -> None:
    renderer = get_renderer("robust", get_engine("python"), {})
    parts = {1: (Part("raw", "RAW"),), 2: ()}
    history = [USER, calls("a", "b"), {"role": "assistant", "content": "t"}, result("B", "b"), result("A", "a")]
    text = renderer.render(history, splice=lambda index, keep: parts[index]).join()
    assert text.index("\nA\n") < text.index("\nB\n")


TYPES = {"s": "string", "i": "integer", "n": "number", "b": "boolean", "o": "object", "l": "array", "z": "null"}
SCHEMA = {"type": "object", "properties": {name: {"type": kind} for name, kind in TYPES.items()}}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("f", "read_file")]
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<|`"), max_size=20)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "s": WORDS, "i": st.integers(), "n": st.floats(allow_nan=False, allow_infinity=False), "b": st.booleans(),
        "o": st.dictionaries(WORDS, JSON_VALUES, max_size=3), "l": st.lists(JSON_VALUES, max_size=3), "z": st.none(),
    },
)  # fmt: skip
CALLS = st.lists(st.tuples(st.sampled_from(["f", "read_file"]), ARGUMENTS, st.booleans()), max_size=3)


@settings(max_examples=150, deadline=None)
@given(form=st.sampled_from(["xml", "json"]), reasoning=WORDS, content=WORDS, made=CALLS)
def test_calls_parse_back(form: str, reasoning: str, content: str, made: list[tuple[str, dict[str, Any], bool]]) -> None:
    """R12: the parser reads from every rendered turn the same names and values."""
    sent = [
        {"function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False) if as_text else arguments}}
        for name, arguments, as_text in made
    ]
    turn = {"role": "assistant", "content": content, "reasoning_content": reasoning, "tool_calls": sent}
    text = robust([USER, turn], tools=TOOLS, tool_call_format=form, add_generation_prompt=False).text
    raw = text.rpartition("<|im_start|>assistant\n<think>\n")[2].removesuffix("<|im_end|>\n")
    read = parse(raw, "qwen3.8" if form == "xml" else "qwen3", tools=TOOLS, start="reasoning", stop="im_end")
    assert [call.name for call in read.tool_calls] == [name for name, _, _ in made]
    for call, (_, arguments, _) in zip(read.tool_calls, made, strict=True):
        assert json.dumps(call.arguments) == json.dumps(arguments)
    assert (read.content or "").strip() == content.strip()
