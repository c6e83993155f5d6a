"""The text-file cases through every face of the parser and every cutting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import Case, load_all

import qwenparse
from qwenparse.testing import check

CASES = load_all()
DATA = Path(__file__).parents[1] / "data"
FIELD = [json.loads(line) for line in (DATA / "field_cases.jsonl").read_text("utf-8").split("\n") if line]
PARSE_SIDE = [row for row in FIELD if row["input_type"] not in ("messages", "turns")]
DIFFERENT = {"B026": "F10", "B032": "F9", "B064": "R4", "B095": "R12"}
"""Rows where docs/format.md decides otherwise than the reporter wished."""


def read(case: Case) -> qwenparse.Turn:
    if not case.prefix:
        return check(case.input, **case.kwargs)
    settings = {k: v for k, v in case.kwargs.items() if k not in ("format", "start", "stop")}
    prompt = "<|im_start|>assistant\n" + case.prefix
    turns = []
    for pieces in ([case.input], list(case.input)):
        parser = qwenparse.Parser.for_prompt(prompt, format=case.kwargs["format"], **settings)
        for piece in pieces:
            parser.feed(piece)
        parser.close(stop=case.kwargs["stop"])
        turns.append(parser.turn)
    assert turns[0] == turns[1]
    return turns[0]


def shown(turn: qwenparse.Turn) -> list[tuple[str, str | None, Any]]:
    calls = list(turn.calls)
    if turn.cut_call is not None and turn.cut_call.name is None:
        calls.append(turn.cut_call)
    out: list[tuple[str, str | None, Any]] = []
    for call in calls:
        kind = "call" if call.complete else "cut" if call is turn.cut_call else "broken"
        out.append((kind, call.name, [(key, literal) for key, literal, _ in call.arguments_recorded]))
    return out


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    turn = read(case)
    assert (turn.reasoning, turn.content, turn.complete) == (case.reasoning, case.content, case.complete)
    expected = [
        (c.kind, c.name, [(None, c.source)] if c.source is not None else c.literals or []) for c in case.calls
    ]
    assert shown(turn) == expected
    assert sorted(((i.code, i.index) for i in turn.issues), key=str) == sorted(case.issues, key=str)
    for call, wish in zip(turn.calls, case.calls, strict=False):
        if wish.typed is not None:
            assert call.arguments == wish.typed
            assert [type(v) for v in call.arguments.values()] == [type(v) for v in wish.typed.values()]
        if wish.text is not None:
            assert call.arguments_json == wish.text


def field_input(row: dict[str, Any]) -> list[str | bytes]:
    given = row["input"]
    if row["input_type"] == "bytes_hex":
        return [bytes.fromhex(piece) for piece in given["byte_chunks"]]
    if isinstance(given, str):
        return [given]
    return list(given["chunks"] if isinstance(given, dict) else given)


def field_turn(row: dict[str, Any], pieces: list[Any]) -> qwenparse.Turn:
    parser = qwenparse.Parser(
        "qwen3" if row["dialect"] == "json" else "qwen3.5",
        start="reasoning" if row["prompt_state"]["think_open"] else "auto",
        tools=row["tools"] or [],
    )
    for piece in pieces:
        parser.feed(piece)
    parser.close(stop=row["stop"])
    return parser.turn


def field_differences(row: dict[str, Any], turn: qwenparse.Turn) -> list[str]:
    expected = row["expected"]
    clean = (lambda s: (s or "").strip()) if row["compare"] == "strip" else (lambda s: s or "")
    wrong = [k for k in ("reasoning", "content")
             if expected.get(k) is not None and clean(getattr(turn, k)) != clean(expected[k])]  # fmt: skip
    if expected.get("calls") is not None:
        mine = [{"name": c.name, "arguments": c.arguments} for c in turn.tool_calls]
        wish = [{"name": c["name"], "arguments": c["arguments"]} for c in expected["calls"]]
        if mine != wish:
            wrong.append("calls")
    return wrong


@pytest.mark.parametrize("row", PARSE_SIDE, ids=lambda row: row["id"])
def test_field_case(row: dict[str, Any]) -> None:
    pieces = field_input(row)
    joined = pieces[0][:0].join(pieces)  # type: ignore[arg-type]
    ones = [joined[i : i + 1] for i in range(len(joined))]
    turns = [field_turn(row, cut) for cut in (pieces, [joined], ones)]
    assert turns[0] == turns[1] == turns[2]
    assert qwenparse.render(turns[0]) == turns[0].raw
    wrong = field_differences(row, turns[0])
    assert bool(wrong) == (row["id"] in DIFFERENT), wrong


def test_number_of_field_cases() -> None:
    assert len(PARSE_SIDE) == 97


LIVE = [json.loads(line) for line in (DATA / "live_samples.jsonl").read_text("utf-8").split("\n") if line]


@pytest.mark.parametrize("format", ["qwen3.5", "qwen3"])
def test_live_samples_keep_every_invariant(format: str) -> None:
    for number, row in enumerate(LIVE):
        check(row["text"], format, start="auto", seed=number)
