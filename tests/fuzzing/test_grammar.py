"""The grammar of the fuzzers: it reaches what it must reach, and nothing about it is left to chance."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings

from fuzz import seeds
from fuzz.build import ROOT
from qwenparse import _grammar as grammar
from qwenparse import parse
from qwenparse.formats import ISSUE_CODES
from qwenparse.testing import completions, damaged

TOOLS = [{"name": "sh", "parameters": {"properties": {"cmd": {"type": "string"}, "n": {"type": "integer"}}}}]


def texts(count: int, mischief: float) -> list[str]:
    return [grammar.Grammar(random.Random(i), mischief).completion() for i in range(count)]


def test_same_seed_same_text() -> None:
    assert texts(50, 0.2) == texts(50, 0.2)
    assert grammar.mutate(random.Random(5), b"<tool_call>x</tool_call>") == grammar.mutate(
        random.Random(5), b"<tool_call>x</tool_call>"
    )


def test_without_mischief_calls_are_complete() -> None:
    turns = [parse(text, "qwen3.5", start="content", stop="im_end") for text in texts(400, 0.0)]
    assert sum(len(t.calls) for t in turns) > 200
    assert all(call.complete for t in turns for call in t.calls)


def test_every_issue_is_reached() -> None:
    """All but `unknown-token`, which ids alone can raise, and `window-exceeded`, which takes a megabyte."""
    seen: Counter[str] = Counter()
    for i in range(4000):
        rng = random.Random(i)
        text = grammar.Grammar(rng, rng.choice((0.1, 0.3))).completion().encode("utf-8", "surrogatepass")
        if i % 2:
            text = grammar.mutate(rng, text)
        start = ("reasoning", "content")[i // 2 % 2]
        turn = parse(text, "qwen3.5", start=start, tools=TOOLS if i % 4 else None, stop=("none", "im_end")[i // 4 % 2])
        seen.update({issue.code for issue in turn.issues})
    assert set(ISSUE_CODES) - set(seen) == {"unknown-token", "window-exceeded"}


def test_mutations_change_text_and_keep_the_limit() -> None:
    text = texts(1, 0.0)[0].encode() * 3
    made = [grammar.mutate(random.Random(i), text, 500) for i in range(300)]
    assert max(map(len, made)) <= 500
    assert len(set(made)) > 200


@pytest.mark.parametrize("mutation", grammar.MUTATIONS, ids=lambda m: getattr(m, "__qualname__", str(m)))
def test_every_mutation_does_something(mutation: object) -> None:
    call = b"<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"
    text = b"<think>\nx\n</think>\n" + call + b'\n{"a": 1}'
    assert any(mutation(random.Random(i), text) != text for i in range(20))  # type: ignore[operator]
    mutation(random.Random(0), b"")  # type: ignore[operator]


def test_bytes_drive_the_choices() -> None:
    assert (
        grammar.Grammar(grammar.ByteRandom(b""), 0.3).completion()
        == grammar.Grammar(grammar.ByteRandom(bytes(900)), 0.3).completion()
    )
    made = {grammar.Grammar(grammar.ByteRandom(random.Random(i).randbytes(400)), 0.2).completion() for i in range(100)}
    assert len(made) > 80


def test_dictionary_is_the_lexemes() -> None:
    assert (ROOT / "fuzz" / "qwen.dict").read_text(encoding="utf-8") == seeds.dictionary()
    entries = [line for line in seeds.dictionary().splitlines() if line.startswith('"')]
    assert len(entries) == len(set(grammar.LEXEMES))


@settings(max_examples=50, deadline=None)
@given(completions(0.2), damaged(0.2))
def test_strategies_give_what_the_parser_takes(text: str, data: bytes) -> None:
    assert parse(text, "qwen3.5").raw == text
    assert parse(data, "qwen3.5").raw_bytes == data
