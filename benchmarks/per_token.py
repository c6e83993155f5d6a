"""CPU time per token of each way to feed the corpus, beside the floor rows.

    python -m benchmarks.per_token [--turns 50] [--json FILE] [--check]

`--check` exits 1 if a row is over its limit (docs/performance.md).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import real_tokenizers

import qwenparse
from qwenparse import ContentDelta, ReasoningDelta
from qwenparse.tokens import Encoder, TokenTable

from . import floor
from .corpus import LENGTH, Turn, corpus
from .ours import TOOLSET, parser_of
from .peers_table import text_pieces
from .timing import cpu_ns, loop_ns

Step = Callable[[Any], Any]
Use = Callable[[Step, Sequence[Any]], Any]

LIMITS: dict[str, tuple[str, float]] = {
    "ids, whole turn, dropped": ("floor: list with one event", 0.6),
    "text, whole turn, dropped": ("floor: list with one event", 0.25),
    "ids, one by one, consumed": ("floor: list with one event, consumed", 3.0),
    "text, one by one, dropped": ("floor: list with one event", 4.0),
}
"""Row -> (floor row, how often it may be paid)."""


def consume(step: Step, pieces: Sequence[Any]) -> list[str]:
    """Looks at every event's class and takes the text of reasoning and content."""
    out: list[str] = []
    append = out.append
    for piece in pieces:
        for event in step(piece):
            kind = type(event)
            if kind is ContentDelta or kind is ReasoningDelta:
                append(event.text)
    return out


def drop(step: Step, pieces: Sequence[Any]) -> None:
    for piece in pieces:
        step(piece)


def cuts(ids: Sequence[int], low: int, high: int) -> list[list[int]]:
    """The ids in steps of `low` to `high`, going round."""
    out, at, size = [], 0, low
    while at < len(ids):
        out.append(list(ids[at : at + size]))
        at, size = at + size, size + 1 if size < high else low
    return out


class Bench:
    """The corpus as text, ids and pieces, and the rows measured on it."""

    def __init__(self, turns: int, seed: int, rounds: int, length: int = LENGTH) -> None:
        encoders = {name: Encoder(real_tokenizers.tokenizer(name)) for name in real_tokenizers.NAMES}
        self.turns = list(corpus(turns, seed=seed, length=length))
        self.ids = [turn.ids(encoders[turn.vocabulary]) for turn in self.turns]
        self.text = [text_pieces(turn, ids) for turn, ids in zip(self.turns, self.ids, strict=True)]
        self.tokens = sum(map(len, self.ids))
        self.seed = seed
        self.rounds = rounds

    def table(self, turn: Turn, method: str) -> TokenTable | None:
        return real_tokenizers.table(turn.vocabulary) if method == "feed_ids" else None

    def work(self, method: str, data: Sequence[Sequence[Any]], how: Use, cls: Any = None) -> Callable[[], None]:
        """Reads every turn with a new parser."""
        make = cls or qwenparse.Parser
        turns = zip(self.turns, data, strict=True)
        todo = [(turn.format, turn.start, self.table(turn, method), pieces) for turn, pieces in turns]

        def work() -> None:
            for format, start, table, pieces in todo:
                parser = make(format, tools=TOOLSET, start=start, tokens=table, record=False)
                how(getattr(parser, method), pieces)
                parser.close(stop="im_end")

        return work

    def row(self, method: str, data: Sequence[Sequence[Any]], how: Use, cls: Any = None) -> float:
        """Nanoseconds per token, the bare loop taken off."""
        return (cpu_ns(self.work(method, data, how, cls), self.rounds) - loop_ns(data, self.rounds)) / self.tokens

    def interleaved(self, streams: int) -> float:
        """One id to each of so many live parsers in turn, as a batching server does."""
        todo = [(turn, ids) for turn, ids in zip(self.turns, self.ids, strict=True)]
        while len(todo) < streams:
            todo += todo
        todo = todo[:streams]
        steps = max(len(ids) for _, ids in todo)
        tokens = sum(len(ids) for _, ids in todo)

        def work() -> None:
            live: list[tuple[Step, Iterator[int]]] = []
            for turn, ids in todo:
                parser = parser_of(turn, tokens=self.table(turn, "feed_ids"), record=False)
                live.append((parser.feed_ids, iter(ids)))
            for _ in range(steps):
                for feed, rest in live:
                    i = next(rest, None)
                    if i is not None:
                        feed(i)

        return cpu_ns(work, self.rounds) / tokens

    def whole(self, method: str) -> float:
        """Nanoseconds per token of turns fed in one piece."""
        data = self.ids if method == "feed_ids" else [turn.text for turn in self.turns]
        return self.row(method, [[piece] for piece in data], drop)

    def rows(self) -> dict[str, float]:
        delta = qwenparse.DeltaParser
        flat = [piece for pieces in self.text for piece in pieces if piece]
        below = floor.rows(flat, self.rounds)
        short = Bench(len(self.turns) * LENGTH, self.seed, self.rounds, 1)
        return {
            "floor: call that does nothing": below["nothing"],
            "floor: list with one event": below["listed"],
            "floor: list with one event, consumed": below["listed, consumed"],
            "text, one by one, dropped": self.row("feed", self.text, drop),
            "text, one by one, consumed": self.row("feed", self.text, consume),
            "text, one by one, deltas dropped": self.row("feed", self.text, drop, delta),
            "ids, one by one, dropped": self.row("feed_ids", self.ids, drop),
            "ids, one by one, consumed": self.row("feed_ids", self.ids, consume),
            "ids, one by one, deltas dropped": self.row("feed_ids", self.ids, drop, delta),
            "ids, steps of 1-8, dropped": self.row("feed_ids", [cuts(ids, 1, 8) for ids in self.ids], drop),
            "ids, whole turn, dropped": self.whole("feed_ids"),
            "ids, whole short turn, dropped": short.whole("feed_ids"),
            "text, whole turn, dropped": self.whole("feed"),
            "text, whole short turn, dropped": short.whole("feed"),
            "ids, 256 streams, dropped": self.interleaved(256),
        }


def over(rows: dict[str, float]) -> list[str]:
    """What is over its limit, as sentences."""
    out = []
    for name, (base, limit) in LIMITS.items():
        times = rows[name] / rows[base]
        if times > limit:
            out.append(f"{name}: {times:.2f} x {base!r} ({rows[name]:.1f} against {rows[base]:.1f} ns), limit {limit}")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.per_token", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--seed", type=int, default=20261)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, help="write the rows")
    parser.add_argument("--check", action="store_true", help="exit 1 if a row is over its limit")
    options = parser.parse_args(arguments)
    bench = Bench(options.turns, options.seed, options.rounds)
    rows = bench.rows()
    print(f"{bench.tokens:,} tokens; CPU nanoseconds per token, least of {options.rounds} rounds\n")
    base = rows["floor: list with one event"]
    for name, ns in rows.items():
        print(f"{name:40} {ns:8.1f}   {ns / base:6.2f} x floor")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    problems = over(rows)
    for problem in problems:
        print(f"\nOVER: {problem}")
    return 1 if problems and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
