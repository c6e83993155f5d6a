"""The core, one row for each way to use it, with what CPython itself asks for beside it.

    pytest benchmarks/test_core.py --benchmark-group-by=group --benchmark-columns=min,ops

Every round works through the same pieces; `extra_info` holds nanoseconds per token (character, parser) of the least
round and how often that is the floor row "list with one event". Growth rows are tests: four times as much may cost at
most 4.6 times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pytest
import real_tokenizers

import qwenparse
from qwenparse.schema import ToolSet
from qwenparse.values import ArgumentsJSON

from . import floor
from .corpus import TOOLS
from .per_token import Bench, consume, drop
from .timing import cpu_ns, loop_ns

TURNS, SEED = 50, 20261
TOOLSET = ToolSet.of(TOOLS)
PARSERS = {"Parser": qwenparse.Parser, "DeltaParser": qwenparse.DeltaParser}
XML_HEAD = "<tool_call>\n<function=write_file>\n<parameter={}>\n"
BEGIN = {
    "plain text": ("qwen3-coder", "Well"),
    "reasoning": ("qwen3.6", "Well"),
    "string argument": ("qwen3-coder", XML_HEAD.format("content") + "x"),
    "other argument": ("qwen3-coder", XML_HEAD.format("executable") + "x"),
    "JSON argument": ("qwen3", '<tool_call>\n{"name": "write_file", "arguments": {"content": "'),
}
"""What stands before the measured tokens: format and text."""
GROWTH = 4.6
"""How much longer four times as much may take."""


@cache
def bench() -> Bench:
    return Bench(TURNS, SEED, 1)


@cache
def words() -> tuple[str, ...]:
    """Tokens of real prose that are nothing but text wherever they stand."""
    plain = [p for pieces in bench().text for p in pieces if p and not set(p) & set('<"\\\n') and not p[-1].isspace()]
    return tuple(plain[:5000])


@cache
def floor_ns() -> dict[str, float]:
    return floor.rows(words(), 15)


def record(benchmark: Any, work: Callable[[], Any], count: int, loop: float = 0, base: str = "listed") -> None:
    """Runs `work`, which handles `count` pieces; `loop`: nanoseconds of the bare loop, to be taken off."""
    benchmark.pedantic(work, rounds=25, warmup_rounds=2)
    if benchmark.disabled:  # run for itself
        return
    ns = (benchmark.stats.stats.min * 1e9 - loop) / count
    benchmark.extra_info["ns"] = round(ns, 1)
    benchmark.extra_info["times floor"] = round(ns / floor_ns()[base], 2)


def parser_at(place: str, cls: Any) -> Any:
    format, text = BEGIN[place]
    parser = cls(format, tools=TOOLSET, start="reasoning" if place == "reasoning" else "content", record=False)
    parser.feed(text)
    return parser


# ---------------------------------------------------------------------------------------------------------- floor


@pytest.mark.benchmark(group="floor")
@pytest.mark.parametrize("row", ["nothing", "shared", "event", "listed"])
def test_floor(benchmark: Any, row: str) -> None:
    step = getattr(floor.load().Floor(), row)
    record(benchmark, lambda: drop(step, words()), len(words()), loop_ns([words()]))


@pytest.mark.benchmark(group="floor")
def test_floor_consumed(benchmark: Any) -> None:
    module = floor.load()
    step = module.Floor().listed
    record(benchmark, lambda: floor.consume(step, module.TextEvent, words()), len(words()), loop_ns([words()]))


# ------------------------------------------------------------------------------------------------------ per token


@pytest.mark.benchmark(group="per token, dropped")
@pytest.mark.parametrize("cls", PARSERS)
@pytest.mark.parametrize("place", BEGIN)
def test_token_dropped(benchmark: Any, place: str, cls: str) -> None:
    feed = parser_at(place, PARSERS[cls]).feed
    record(benchmark, lambda: drop(feed, words()), len(words()), loop_ns([words()]))


def consume_deltas(feed: Callable[[str], Any], pieces: Sequence[str]) -> list[str]:
    out: list[str] = []
    append = out.append
    for piece in pieces:
        delta = feed(piece)
        if delta is not None:
            if delta.content:
                append(delta.content)
            elif delta.reasoning:
                append(delta.reasoning)
            for event in delta.calls:
                append(event.text)
    return out


def consume_events(feed: Callable[[str], Any], pieces: Sequence[str]) -> list[str]:
    out: list[str] = []
    append = out.append
    for piece in pieces:
        for event in feed(piece):
            kind = type(event)
            if kind is qwenparse.ContentDelta or kind is qwenparse.ReasoningDelta or kind is qwenparse.ArgumentDelta:
                append(event.text)
    return out


@pytest.mark.benchmark(group="per token, consumed")
@pytest.mark.parametrize("cls", PARSERS)
@pytest.mark.parametrize("place", BEGIN)
def test_token_consumed(benchmark: Any, place: str, cls: str) -> None:
    feed = parser_at(place, PARSERS[cls]).feed
    how = consume_events if cls == "Parser" else consume_deltas
    assert "".join(how(feed, words())) == "".join(words())
    record(benchmark, lambda: how(feed, words()), len(words()), loop_ns([words()]), "listed, consumed")


@pytest.mark.benchmark(group="per token, argument JSON")
@pytest.mark.parametrize("place", ["string argument", "JSON argument"])
def test_token_with_json_pieces(benchmark: Any, place: str) -> None:
    """Events and the pieces of the argument JSON a client gets."""
    format, text = BEGIN[place]
    parser, pieces = qwenparse.Parser(format, tools=TOOLSET, start="content", record=False), ArgumentsJSON(TOOLSET)

    def step(token: str) -> None:
        for event in parser.feed(token):
            if type(event) is not qwenparse.Markup:
                pieces.feed(event)

    step(text)
    record(benchmark, lambda: drop(step, words()), len(words()), loop_ns([words()]))


@pytest.mark.benchmark(group="per character")
@pytest.mark.parametrize("place", BEGIN)
def test_character(benchmark: Any, place: str) -> None:
    feed = parser_at(place, qwenparse.Parser).feed
    characters = list("".join(words())[:10_000])
    record(benchmark, lambda: drop(feed, characters), len(characters), loop_ns([characters]))


@pytest.mark.benchmark(group="bytes in")
def test_bytes(benchmark: Any) -> None:
    feed = qwenparse.Parser("qwen3-coder", start="content", record=False).feed
    pieces = [word.encode() for word in words()]
    feed(b"Well")
    record(benchmark, lambda: drop(feed, pieces), len(pieces), loop_ns([pieces]))


# ----------------------------------------------------------------------------------------------------- whole turn


@pytest.mark.benchmark(group="corpus, per token")
@pytest.mark.parametrize("how", [drop, consume])
@pytest.mark.parametrize("method", ["feed", "feed_ids"])
def test_corpus_by_token(benchmark: Any, method: str, how: Any) -> None:
    data = bench().text if method == "feed" else bench().ids
    base = "listed" if how is drop else "listed, consumed"
    record(benchmark, bench().work(method, data, how), bench().tokens, loop_ns(data), base)


@pytest.mark.benchmark(group="corpus, whole turns, per token")
@pytest.mark.parametrize("method", ["feed", "feed_ids"])
def test_corpus_by_turn(benchmark: Any, method: str) -> None:
    data: list[Any] = [[t.text] for t in bench().turns] if method == "feed" else [[ids] for ids in bench().ids]
    record(benchmark, bench().work(method, data, drop), bench().tokens)


@pytest.mark.benchmark(group="corpus, whole turns, per token")
def test_parse(benchmark: Any) -> None:
    """`parse`, and the clean view that it makes."""

    def work() -> None:
        for turn in bench().turns:
            qwenparse.parse(turn.text, turn.format, tools=TOOLSET, start=turn.start, stop="im_end")

    record(benchmark, work, bench().tokens)


@pytest.mark.benchmark(group="make and drop a parser")
@pytest.mark.parametrize("cls", PARSERS)
@pytest.mark.parametrize("tokens", [False, True])
def test_make(benchmark: Any, cls: str, tokens: bool) -> None:
    make, table = PARSERS[cls], real_tokenizers.table("qwen3.5") if tokens else None

    def work() -> None:
        for _ in range(1000):
            make("qwen3.6", tools=TOOLSET, start="reasoning", tokens=table, record=False)

    record(benchmark, work, 1000)


# --------------------------------------------------------------------------------------------------------- growth

SIZES = {"whole": 1_000_000, "by four": 250_000, "by one": 250_000}
"""Characters of the smaller input. Fed whole, text and events live at once: below, the smaller ones still fit a cache."""


def value(body: str) -> str:
    return XML_HEAD.format("content") + body + "\n</parameter>\n</function>\n</tool_call>"


def json_value(body: str) -> str:
    return '<tool_call>\n{"name": "write_file", "arguments": {"content": "' + body + '"}}\n</tool_call>'


GROWING: dict[str, Callable[[int], str]] = {
    "argument": lambda n: value("x = y;\n" * (n // 7)),
    "JSON argument": lambda n: json_value("x = y;\\n" * (n // 8)),
    "whitespace in text": lambda n: "x" + " \n" * (n // 2) + "y",
    "whitespace in an argument": lambda n: value("x" + " \n" * (n // 2) + "y"),
    "text of '<'": lambda n: "x" + "<" * n,
    "text of half tags": lambda n: "<tool_c" * (n // 7),
    "text of calls' openers": lambda n: "<tool_call>\n" * (n // 12),
    "closers in an argument": lambda n: value("</parameter> " * (n // 13)),
    "characters with the bytes of '<' and newline": lambda n: "\u3c0a" * n,
    "such characters in an argument": lambda n: value("\u3c0a" * n),
    "broken bytes": lambda n: "\udcff a" * (n // 3),
    "stray closers": lambda n: value("x") + "</tool_call>" * (n // 12),
    "late closers": lambda n: "a</think>" * (n // 9),
}


def whole(text: str) -> Iterator[str]:
    yield text


def by_four(text: str) -> list[str]:
    return [text[k : k + 4] for k in range(0, len(text), 4)]


CUTS: dict[str, Callable[[str], Any]] = {"whole": whole, "by four": by_four, "by one": list}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("what", GROWING)
def test_growth(what: str, cut: str) -> None:
    def cost(size: int) -> int:
        pieces = list(CUTS[cut](GROWING[what](size)))

        def work() -> None:
            parser = qwenparse.Parser("qwen3-coder", tools=TOOLSET, record=False)
            drop(parser.feed, pieces)
            parser.close(stop="im_end")

        return cpu_ns(work, 3)

    size = SIZES[cut]
    least = min(cost(4 * size) / cost(size) for _ in range(3))
    assert least <= GROWTH, f"four times as much took {least:.2f} times as long"
