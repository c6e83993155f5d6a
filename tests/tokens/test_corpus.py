"""The generated corpus: stable, varied, and with the right parse beside each turn."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import Any

import pytest
import real_tokenizers
from spec_parser import parse_spec

from benchmarks.corpus import TOOLS, Turn, corpus
from qwenparse import get_format
from qwenparse.tokens import Encoder

TURNS = list(corpus(300))
LOOKALIKES = list(corpus(200, lookalikes=True))
SCHEMAS = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in TOOLS}


@pytest.fixture(scope="module")
def encoders() -> dict[str, Encoder]:
    return {name: Encoder(real_tokenizers.tokenizer(name)) for name in real_tokenizers.NAMES}


def test_the_same_seed_gives_the_same_corpus_on_every_python() -> None:
    assert list(corpus(300)) == TURNS
    assert list(corpus(20)) == TURNS[:20]
    assert list(corpus(20, seed=1)) != TURNS[:20]
    text = "".join(turn.text for turn in TURNS) + repr([(t.reasoning, t.content, t.calls) for t in TURNS])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DIGEST


DIGEST = "d8faed75ff0aa9c3"


def test_it_holds_every_kind_of_turn() -> None:
    assert {t.format for t in TURNS} == {"qwen3.6", "qwen3.5", "qwen3-coder", "qwen3", "qwen3-thinking-2507"}
    assert set(Counter(len(t.calls) for t in TURNS)) == {0, 1, 2, 3}
    assert {name for t in TURNS for name, _ in t.calls} == set(SCHEMAS)
    assert {t.start for t in TURNS} == {"reasoning", "content", "auto"}
    assert {(t.reasoning is None, t.content is None) for t in TURNS} == {
        (True, True), (True, False), (False, True), (False, False)
    }  # fmt: skip
    everything = "".join(t.text for t in TURNS)
    for sign in (
        "。",
        "👩‍💻",
        "```python\n",
        "    return",
        "&amp;",
        "<!doctype html>",
        '\\n", file=out)',
        "\n</parameter>",
    ):
        assert sign in everything
    literals = [v for t in TURNS for _, a in t.calls for v in a.values()]
    assert any(isinstance(v, str) and v.endswith("\n") for v in literals)
    assert any((isinstance(v, str) and v.startswith(" ")) or v is None for v in literals)
    for turn in TURNS:
        get_format(turn.format)


def naive(turn: Turn) -> tuple[str | None, str | None, list[tuple[str, dict[str, Any]]]]:
    """A parse good enough for text without look-alikes: split at the tags, trim, read values by their schema."""
    head, *blocks = turn.text.split("<tool_call>\n")
    reasoning = None
    if "</think>" in head:
        reasoning, head = head.split("</think>")
        reasoning = reasoning.removeprefix("<think>").strip()
    calls = []
    for block in blocks:
        body = block.split("\n</tool_call>")[0]
        if body.startswith("{"):
            data = json.loads(body)
            calls.append((data["name"], data["arguments"]))
            continue
        name = re.match(r"<function=(\w+)>\n", body)[1]  # type: ignore[index]
        found = re.findall(r"<parameter=(\w+)>\n(.*?)\n</parameter>\n", body, re.DOTALL)
        calls.append((name, {k: v if SCHEMAS[name][k].get("type") == "string" else read(v) for k, v in found}))
    return reasoning, head.strip() or None, calls


def read(literal: str) -> Any:
    return {"True": True, "False": False}[literal] if literal in ("True", "False") else json.loads(literal)


def test_the_expected_parse_is_right() -> None:
    for turn in TURNS:
        assert naive(turn) == (turn.reasoning, turn.content, list(turn.calls))


def test_the_specification_agrees_with_the_expected_parse() -> None:
    for turn in (*TURNS, *LOOKALIKES):
        certain, at = [], 0
        for text, tag in turn.pieces:
            certain += [at] if tag else []
            at += len(text)
        options: dict[str, Any] = {"tools": TOOLS, "start": turn.start, "stop": "im_end"}
        result = parse_spec(turn.text, turn.format, certain=frozenset(certain), **options)
        assert (result.reasoning, result.content, result.issues) == (turn.reasoning, turn.content, [])
        assert [(call.name, call.complete) for call in result.calls] == [(name, True) for name, _ in turn.calls]
        if not turn.lookalike:
            assert parse_spec(turn.text, turn.format, **options) == result


def test_ids_are_those_of_the_whole_text(encoders: dict[str, Encoder]) -> None:
    tokens = split = 0
    for turn in TURNS:
        ids, table = turn.ids(encoders[turn.vocabulary]), real_tokenizers.table(turn.vocabulary)
        assert not turn.lookalike
        assert ids == real_tokenizers.tokenizer(turn.vocabulary).encode(turn.text).ids
        assert table.decode(ids) == turn.text
        tokens += len(ids)
        split += sum((table[i] or b"").decode("utf-8", "replace").count("\ufffd") > 0 for i in ids)
    assert tokens > 60_000 and split > 0.005 * tokens


def test_lookalikes_are_ordinary_tokens(encoders: dict[str, Encoder]) -> None:
    assert sum(turn.lookalike for turn in LOOKALIKES) > 100
    for turn in LOOKALIKES:
        encoder, table = encoders[turn.vocabulary], real_tokenizers.table(turn.vocabulary)
        ids = turn.ids(encoder)
        assert table.decode(ids) == turn.text
        assert [table.decode([i]) for i in ids if i in encoder.added_ids] == [t for t, tag in turn.pieces if tag]
