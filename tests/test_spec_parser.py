"""The executable specification passes every case, and is consistent with itself."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from cases import Case, load_all
from spec_parser import SpecResult, parse_spec

from qwenparse.formats import KINDS, POLICY_VALUES, Policy

CASES = load_all()
NOT_SPECIFIED = {"type-mismatch", "duplicate-parameter", "broken-utf8"}
STOPS = {"none": "", "im_end": "<|im_end|>", "other_stop": "<|endoftext|>"}
FIELD_CASES = Path(__file__).parent / "data" / "field_cases.jsonl"
FIELD = [json.loads(line) for line in FIELD_CASES.read_text("utf-8").split("\n") if line]
PARSE_SIDE = [row for row in FIELD if row["input_type"] not in ("messages", "turns")]
# The reporter's wish is not the rule: a lone `</tool_call>` (F10), blanks as framing (F9), a call in the middle of
# a line of reasoning (R4), `<thinking>` (R12).
DIFFERENT = {"B026": "content", "B032": "command", "B064": "calls", "B095": "reasoning"}


def whole(text: str, stop: str) -> str:
    return text + STOPS[stop]


def check_spans(result: SpecResult, text: str) -> None:
    position = 0
    for kind, start, end in result.spans:
        assert kind in KINDS
        assert start == position < end
        assert kind != "ws" or not text[start:end].strip(" \t\n\r\v\f")
        position = end
    assert position == len(text)
    kinds = [kind for kind, _, _ in result.spans]
    assert all(a != b for a, b in itertools.pairwise(kinds))
    assert [c.index for c in result.calls] == list(range(len(result.calls)))
    assert all(i is None or i < len(result.calls) for _, i in result.issues)


def shown_calls(result: SpecResult) -> list[tuple[Any, ...]]:
    calls = result.calls + ([result.cut_call] if result.cut_call and result.cut_call.name is None else [])
    return [
        ("call" if c.complete else "cut" if c is result.cut_call else "broken", c.name, [a[:2] for a in c.args])
        for c in calls
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    result = parse_spec(case.input, prefix=case.prefix, **case.kwargs)
    check_spans(result, whole(case.input, case.kwargs["stop"]))
    assert (result.reasoning, result.content) == (case.reasoning, case.content)
    expected = [(c.kind, c.name, c.literals if c.source is None and c.literals is not None
                 else [] if c.source is None else [(None, c.source)]) for c in case.calls]  # fmt: skip
    assert shown_calls(result) == expected
    key = str
    assert sorted(result.issues, key=key) == sorted((i for i in case.issues if i[0] not in NOT_SPECIFIED), key=key)
    assert result.complete == case.complete


def field_differences(row: dict[str, Any]) -> set[str]:
    text, expected = row["input"], row["expected"]
    if row["input_type"] == "bytes_hex":
        text = b"".join(bytes.fromhex(h) for h in text["byte_chunks"]).decode("utf-8", "surrogateescape")
    elif not isinstance(text, str):
        text = "".join(text["chunks"] if isinstance(text, dict) else text)
    result = parse_spec(
        text,
        "qwen3" if row["dialect"] == "json" else "qwen3.5",
        start="reasoning" if row["prompt_state"]["think_open"] else "auto",
        tools=row["tools"] or [],
        stop=row["stop"],
    )
    check_spans(result, whole(text, row["stop"]))
    found = set()
    for name in ("reasoning", "content"):
        got, want = getattr(result, name) or "", expected[name]
        if want is not None and (got.strip() != want.strip() if row["compare"] == "strip" else got != want):
            found.add(name)
    calls = [c for c in result.calls if c.complete]
    if expected["calls"] is None:
        return found
    if [c.name for c in calls] != [c["name"] for c in expected["calls"]]:
        return found | {"calls"}
    for call, want in zip(calls, expected["calls"], strict=True):
        literals = {key: literal for key, literal, _ in call.args if key is not None}
        for key, value in want["arguments"].items():
            if isinstance(value, str) and literals.get(key, value) != value:
                found.add(key)
    return found


@pytest.mark.parametrize("row", PARSE_SIDE, ids=lambda row: row["id"])
def test_field_case(row: dict[str, Any]) -> None:
    found = field_differences(row)
    if row["id"] in DIFFERENT:
        assert DIFFERENT[row["id"]] in found
    else:
        assert found == set()


def test_field_cases_are_all_here() -> None:
    assert len(PARSE_SIDE) == 97


LEXEMES = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<function=sh>", "<function=zz>", "</function>",
    "<parameter=cmd>", "<parameter=n>", "<parameter=cmd=", "<parameter=cmd\n", "<parameter=", "</parameter>",
    "</parameter/>", '{"name": "sh", "arguments": {"cmd": "a"}}', '{"name": "sh", "arguments": {"cmd": ',
    '{"arguments": "{}", ', '"name": "sh"', '"', "}", "{", "\\", "<", "</", "<func", "<tool", "\n", "\n\n", " ",
    "x", "```\n", " " * 1020, "\n" * 1025, "\v", "\U0001f600",
]  # fmt: skip


def test_tag_soup_is_covered_without_gaps() -> None:
    rng = random.Random(20)
    tools = [CASES[0].kwargs["tools"], None, []]
    for _ in range(12_000):
        text = "".join(rng.choices(LEXEMES, k=rng.randint(1, 9)))
        at = rng.randint(0, len(text)) if rng.random() < 0.2 else 0
        certain = frozenset(i for i in range(len(text)) if rng.random() < 0.6) if rng.random() < 0.2 else None
        stop = rng.choice(list(STOPS))
        policy = Policy(**{k: rng.choice(v) for k, v in POLICY_VALUES.items() if rng.random() < 0.2})  # type: ignore[arg-type]
        result = parse_spec(
            text[at:],
            rng.choice(["qwen3.5", "qwen3"]),
            start=rng.choice([None, "reasoning", "content", "auto"]),
            tools=rng.choice(tools),
            policy=policy,
            stop=stop,
            prefix=text[:at],
            certain=certain,
            max_held=rng.choice([1 << 20, 60]),
        )
        check_spans(result, whole(text[at:], stop))


def test_ids_known_spelled_tags_are_text() -> None:
    text = "<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"
    spelled = parse_spec(text, start="content", certain=frozenset())
    assert (spelled.content, spelled.calls, spelled.issues) == (text, [], [])
    sampled = parse_spec(text, start="content", certain=frozenset({0, text.index("</tool_call>")}))
    assert sampled.content is None and sampled.calls[0].args == [("cmd", "ls", True)]


def test_id_inside_a_spelled_stretch_closes_the_reasoning() -> None:
    text = "a </think> b</think>c"
    result = parse_spec(text, certain=frozenset({text.rindex("</think>")}))
    assert (result.reasoning, result.content) == ("a </think> b", "c")


def test_prefix_state_and_positions() -> None:
    rest = "sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"
    result = parse_spec(rest, prefix="<tool_call>\n<function=")
    assert result.spans[0] == ("name", 0, 2)
    assert [(c.name, c.args) for c in result.calls] == [("sh", [("cmd", "ls", True)])]
    result = parse_spec(" more</think>\nHi", prefix="<think>\nI'm")
    assert (result.reasoning, result.content, result.issues) == (" more", "Hi", [])
    result = parse_spec("ls\n</parameter>\n</function>", prefix="<tool_call>\n<function=sh>\n<parameter=cmd>\ncd;")
    assert result.calls[0].args == [("cmd", "cd;ls", True)]


def test_long_inputs_are_covered() -> None:
    units = ["<", "< ", "x\n", "<tool_call>", "<tool_call>\n<function=sh>", "</parameter>\n", " " * 1000 + "<"]
    for unit in units:
        text = "<tool_call>\n<function=sh>\n<parameter=cmd>\n" + unit * (100_000 // len(unit))
        check_spans(parse_spec(text, start="content"), text)
        check_spans(parse_spec(text[12:], start="content"), text[12:])


def test_call_that_ended_in_the_prefix_is_not_counted() -> None:
    ended = "<tool_call>\n<function=zz>\n</function>\n"
    result = parse_spec("sh>\n</function>", prefix=ended + "<function=", tools=[])
    assert result.calls == []
    result = parse_spec("sh>\n</function>\n</tool_call>", prefix=ended + "<function=")
    assert [(c.index, c.name) for c in result.calls] == [(0, "sh")]
    assert result.issues == [("several-calls-in-block", 0)]
