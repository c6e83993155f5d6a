"""Parsing by ids against parsing the text: every case, every field report, recorded output, and random input."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cases
import lexemes
import pytest
import real_tokenizers
from soak import of_core, of_spec
from spec_parser import parse_spec

import qwenparse
from qwenparse.tokens import Encoder, TokenTable
from qwenparse.utf8 import to_bytes

DATA = Path(__file__).resolve().parents[1] / "data"
CASES = cases.load_all()
FIELD = [json.loads(line) for line in (DATA / "field_cases.jsonl").read_text("utf-8").split("\n") if line]
FIELD = [row for row in FIELD if row["input_type"] not in ("messages", "turns")]
LIVE = [json.loads(line) for line in (DATA / "live_samples.jsonl").read_text("utf-8").split("\n") if line]
TAG = re.compile("</?think>|</?tool_call>")
_BEGUN = "|".join(
    sorted({re.escape(tag[:k]) for tag in ("<think>", "</think>", "<tool_call>", "</tool_call>") for k in range(1, len(tag))})
)
CUT = re.compile(rf"(?:{_BEGUN})\s*\Z")
"""A tag that the end of the input cuts: with ids that is no tag, with text it may have become one."""
BYTES = {bytes([b]): b for b in range(256)}
SMALL = TokenTable.from_ranks(BYTES, {"<|endoftext|>": 256, "<|im_end|>": 258, **{
    "<think>": 300, "</think>": 301, "<tool_call>": 302, "</tool_call>": 303}}, vocab_size=320)  # fmt: skip


@cache
def plain(name: str) -> tuple[Encoder, dict[int, int]]:
    """An encoder that composes nothing, and byte -> id of it alone."""
    from tokenizers import Tokenizer

    spec = json.loads(Path(real_tokenizers.tokenizer_file(name)).read_text("utf-8"))
    spec["normalizer"] = None
    table = real_tokenizers.table(name)
    singles = {data[0]: i for i in range(table.size - 40) if (data := table[i]) and len(data) == 1}
    assert len(singles) == 256
    return Encoder(Tokenizer.from_str(json.dumps(spec))), singles


def ids_of(text: str, name: str, certain: frozenset[int] | None = None) -> list[int]:
    """Ids of exactly this text: tags at `certain` (None: all) by their own id, all else in ordinary tokens."""
    table = SMALL if name == "small" else real_tokenizers.table(name)
    out: list[int] = []
    at = 0
    for found in [*TAG.finditer(text), None]:
        if found is not None and certain is not None and found.start() not in certain:
            continue
        end = len(text) if found is None else found.start()
        out += _ordinary(text[at:end], name)
        if found is not None:
            out.append(table.tag_ids[found[0]])
            at = found.end()
    assert table.decode_bytes(out) == to_bytes(text)
    return out


def _ordinary(text: str, name: str) -> list[int]:
    if name == "small":
        return list(to_bytes(text))
    encoder, singles = plain(name)
    if re.search("[\ud800-\udfff]", text):
        return [singles[b] for b in to_bytes(text)]
    return encoder.encode(text, specials=False)


def cuts(ids: Sequence[int], seed: int = 0) -> Iterator[list[Any]]:
    """The whole list, one id at a time, and random steps."""
    yield [list(ids)]
    yield list(ids)
    r = random.Random(seed)
    steps, at = [], 0
    while at < len(ids):
        size = r.randint(1, 8)
        steps.append(list(ids[at : at + size]))
        at += size
    yield steps


def by_ids(make: Any, ids: Sequence[int], stop: Any, seed: int = 0) -> qwenparse.Turn:
    turns = []
    for steps in cuts(ids, seed):
        parser = make()
        raw = "".join(e.raw for step in steps for e in parser.feed_ids(step)) + "".join(e.raw for e in parser.close(stop=stop))
        assert raw == parser.turn.raw and parser.turn.token_ids == (tuple(ids) if steps else None)
        turns.append(parser.turn)
    assert all(turn == turns[0] and turn.issues == turns[0].issues for turn in turns)
    return turns[0]


def agree(turn: qwenparse.Turn, text: str, certain: frozenset[int] | None, **settings: Any) -> None:
    """The turn is what the specification says; it says nothing about broken bytes."""
    if certain is None:
        certain = frozenset(m.start() for m in TAG.finditer(text))
    core = of_core(turn)
    core["issues"] = [issue for issue in core["issues"] if issue[0] != "broken-utf8"]
    assert core == of_spec(parse_spec(text, certain=certain, **settings)), (text, sorted(certain), settings)


def test_everything_is_here() -> None:
    assert len(FIELD) == 97 and len(CASES) > 300 and len(LIVE) > 10


@pytest.mark.parametrize("name", real_tokenizers.NAMES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: cases.Case, name: str) -> None:
    settings = {k: v for k, v in case.kwargs.items() if k not in ("format", "start", "stop")}
    table = real_tokenizers.table(name)

    def make(**more: Any) -> qwenparse.Parser:
        if case.prefix:
            prompt = "<|im_start|>assistant\n" + case.prefix
            return qwenparse.Parser.for_prompt(prompt, format=case.kwargs["format"], **settings, **more)
        return qwenparse.Parser(case.kwargs["format"], start=case.kwargs["start"], **settings, **more)

    by_text = make()
    by_text.feed(case.input)
    by_text.close(stop=case.kwargs["stop"])
    stop = case.kwargs["stop"]
    for ids, options in (
        (ids_of(case.input, name), {}),
        (ids_of(case.input, name), {"tags": "text"}),
        (ids_of(case.input, name, frozenset()), {"tags": "text"}),
    ):
        turn = by_ids(lambda o=options: make(tokens=table, **o), ids, stop)
        if "tags" in options or not CUT.search(case.input):
            assert turn == by_text.turn and turn.issues == by_text.turn.issues
        else:
            agree(turn, case.input, None, prefix=case.prefix, **case.kwargs)
    spelled = by_ids(lambda: make(tokens=table), ids_of(case.input, name, frozenset()), stop)
    agree(spelled, case.input, frozenset(), prefix=case.prefix, **case.kwargs)
    assert not any(span.kind in ("think_open", "call_open", "call_close") for span in spelled.spans)


def field_text(row: dict[str, Any]) -> str:
    given = row["input"]
    if row["input_type"] == "bytes_hex":
        return b"".join(map(bytes.fromhex, given["byte_chunks"])).decode("utf-8", "surrogateescape")
    return given if isinstance(given, str) else "".join(given["chunks"] if isinstance(given, dict) else given)


@pytest.mark.parametrize("name", real_tokenizers.NAMES)
@pytest.mark.parametrize("row", FIELD, ids=lambda row: row["id"])
def test_field_case(row: dict[str, Any], name: str) -> None:
    text, format = field_text(row), "qwen3" if row["dialect"] == "json" else "qwen3.5"
    settings = {"start": "reasoning" if row["prompt_state"]["think_open"] else "auto", "tools": row["tools"] or []}
    table = real_tokenizers.table(name)
    expected = qwenparse.parse(text, format, stop=row["stop"], **settings)
    turn = by_ids(lambda: qwenparse.Parser(format, tokens=table, **settings), ids_of(text, name), row["stop"])
    assert (turn == expected and turn.issues == expected.issues) or CUT.search(text)
    agree(turn, text, None, format=format, stop=row["stop"], **settings)
    spelled = by_ids(lambda: qwenparse.Parser(format, tokens=table, **settings), ids_of(text, name, frozenset()), row["stop"])
    agree(spelled, text, frozenset(), format=format, stop=row["stop"], **settings)


@pytest.mark.parametrize("name", real_tokenizers.NAMES)
@pytest.mark.parametrize("format", ["qwen3.5", "qwen3"])
def test_recorded_output(format: str, name: str) -> None:
    table = real_tokenizers.table(name)
    for row in LIVE:
        expected = qwenparse.parse(row["text"], format, start="auto", stop="im_end")
        ids = ids_of(row["text"], name)
        turn = by_ids(lambda: qwenparse.Parser(format, start="auto", tokens=table), ids, "im_end")
        assert (turn == expected and turn.issues == expected.issues) or CUT.search(row["text"])
        agree(turn, row["text"], None, format=format, start="auto", stop="im_end")


@pytest.mark.parametrize("seed", range(4))
def test_random_input_with_random_certainty(seed: int) -> None:
    """Core against the specification: some tags sampled, some spelled, at random places of random input."""
    rng = random.Random(seed)
    for number in range(2500):
        text, settings, stop = lexemes.text(rng), lexemes.settings(rng), rng.choice(lexemes.STOPS)
        share = rng.choice((0.0, 0.5, 0.5, 0.9, 1.0))
        certain = frozenset(m.start() for m in TAG.finditer(text) if rng.random() < share)
        name = "qwen3.5" if number % 20 == 0 else "small"
        table = SMALL if name == "small" else real_tokenizers.table(name)
        turn = by_ids(lambda s=settings, t=table: qwenparse.Parser(tokens=t, **s), ids_of(text, name, certain), stop, number)
        agree(turn, text, certain, stop=stop, **settings)


@pytest.mark.parametrize("seed", range(2))
def test_random_certainty_behind_a_prefix(seed: int) -> None:
    rng = random.Random(seed)
    prefixes = ("", "<think>\n", "<think>\n\n</think>\n\n", "<think>\nI'm", "Hi\n\n", "<tool_call>\n<function=", "<tool", "</thi")
    for number in range(1500):
        prefix, text = rng.choice(prefixes), lexemes.text(rng)[:400]
        format = rng.choice(("qwen3.5", "qwen3", "qwen3-coder"))
        settings = {"policy": lexemes.policies(rng), "tools": rng.choice(lexemes.TOOL_CHOICES)}
        stop = rng.choice(lexemes.STOPS)
        certain = frozenset(m.start() for m in TAG.finditer(text) if rng.random() < 0.5)
        start = qwenparse.get_format(format).start
        turn = by_ids(
            lambda: qwenparse.Parser.for_prompt(
                "<|im_start|>assistant\n" + prefix, format=format, tokens=SMALL, **settings  # noqa: B023
            ),
            ids_of(text, "small", certain), stop, number,
        )  # fmt: skip
        start = "auto" if start == "reasoning" else start
        agree(turn, text, certain, format=format, start=start, prefix=prefix, stop=stop, **settings)


@pytest.mark.parametrize("data", ["naïve 天气。", "👩‍💻🎉 <b>", "a\u0301\U0010ffff\u07ff\u0800", "\udce5\udca4天\udcff"])
def test_characters_may_be_split_anywhere_in_every_section(data: str) -> None:
    call = f"<tool_call>\n<function=sh>\n<parameter=cmd>\n{data}\n</parameter>\n</function>\n</tool_call>"
    text = f"{data}\n</think>\n\n{data}\n\n{call}"
    expected = qwenparse.parse(text, "qwen3.5", start="reasoning", tools=lexemes.TOOLS)
    assert expected.tool_calls[0].arguments == {"cmd": data}
    tags = ids_of(text, "small")
    # All pairs of bytes as one token too: every token ends or begins inside a character somewhere.
    pairs = {bytes([a, b]) for a, b in zip(to_bytes(text), to_bytes(text)[1:], strict=False)}
    ranks = {**BYTES, **{pair: 1000 + n for n, pair in enumerate(sorted(pairs))}}
    table = TokenTable.from_ranks(ranks, {t: i for t, i in SMALL.tag_ids.items()})
    for shift in range(8):
        ids: list[int] = []
        at = 0
        while at < len(tags):
            two = tags[at : at + 2]
            if (at + shift) % 3 and len(two) == 2 and max(two) < 256:
                ids.append(ranks[bytes(two)])
                at += 2
            else:
                ids.append(tags[at])
                at += 1
        assert table.decode_bytes(ids) == to_bytes(text)
        turn = by_ids(
            lambda: qwenparse.Parser("qwen3.5", start="reasoning", tools=lexemes.TOOLS, tokens=table), ids, "none", shift
        )
        assert turn == expected and turn.issues == expected.issues
