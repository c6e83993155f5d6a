"""The table of parsers: CPU time per token and correctness of each, on the same tokens in one run.

    python -m benchmarks.peers_table [--turns 100] [--seed N] [--svg FILE] [--json FILE]

Run it where `python -m benchmarks.peers_install DIR` put the peers; those that are missing are listed as missing.
"""

from __future__ import annotations

import argparse
import codecs
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import real_tokenizers

from qwenparse.tokens import Encoder

from . import peers, picture
from .corpus import LENGTH, Turn, corpus
from .ours import OURS
from .timing import cpu_ns, loop_ns


@dataclass
class Row:
    """One parser on one dialect."""

    name: str
    version: str
    dialect: str
    what: str
    unit: str
    ns_dropped: float
    """CPU nanoseconds per token with results thrown away, parser construction in, bare loop off."""
    ns_consumed: float
    """The same with the reasoning, content and calls of the turn put together."""
    calls_right: float
    text_right: float
    whole_right: float
    raised: int


def text_pieces(turn: Turn, ids: Sequence[int]) -> list[str]:
    """The text of each id as a server's incremental decoder gives it."""
    table = real_tokenizers.table(turn.vocabulary)
    decoder = codecs.getincrementaldecoder("utf-8")()
    return [decoder.decode(table[i] or b"") for i in ids]


def dialect(turn: Turn) -> str:
    return "XML" if peers.is_xml(turn) else "JSON"


def measure(adapter: peers.Adapter, turns: Sequence[Turn], ids: Sequence[list[int]], rounds: int, exact: bool) -> Row:
    data: list[Any] = [list(i) if adapter.unit == "ids" else text_pieces(t, i) for t, i in zip(turns, ids, strict=True)]
    right = peers.score(adapter, turns, data, exact=exact)
    tokens = sum(map(len, ids))
    loop = loop_ns(data, rounds) if adapter.unit == "text" else 0

    def run(one: Any) -> float:
        def work() -> None:
            for turn, pieces in zip(turns, data, strict=True):
                try:
                    one(turn, pieces)
                except Exception:  # counted by score()
                    continue

        return (cpu_ns(work, rounds) - loop) / tokens

    return Row(
        name=adapter.name,
        version=version(adapter.requires),
        dialect=dialect(turns[0]),
        what=adapter.what,
        unit=adapter.unit,
        ns_dropped=run(adapter.drop),
        ns_consumed=run(adapter.stream),
        calls_right=right.calls,
        text_right=right.text,
        whole_right=right.whole,
        raised=right.raised,
    )


def run(turns: int, seed: int, rounds: int) -> tuple[list[Row], dict[str, str]]:
    """All rows, and the missing peers with the reason."""
    rows: list[Row] = []
    missing = dict(peers.NOT_RUN)
    encoders = {name: Encoder(real_tokenizers.tokenizer(name)) for name in real_tokenizers.NAMES}
    everything = list(corpus(turns, seed=seed, length=LENGTH))
    sets = []
    for name in ("XML", "JSON"):
        some = [turn for turn in everything if dialect(turn) == name]
        sets.append((some, [turn.ids(encoders[turn.vocabulary]) for turn in some]))
    for make in (*OURS, *peers.adapters()):
        try:
            adapter = make()
            version(adapter.requires)
        except (ImportError, PackageNotFoundError) as e:
            missing[make.name] = f"not installed ({e})"
            continue
        exact = adapter.requires == "qwenparse"
        rows += [measure(adapter, some, ids, rounds if exact else min(rounds, 3), exact) for some, ids in sets]
    return rows, missing


HEAD = ("parser", "version", "dialect", "streams of a call", "ns/token", "consumed", "calls", "text", "all right")
TITLE = "CPU time per token, results consumed (ns, logarithmic)"


def table(rows: Sequence[Row], missing: dict[str, str]) -> str:
    """Markdown with its columns in line, and what is missing."""
    lines = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEAD))]
    out = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |" for line in lines]
    out.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    out += ["", *(f"* missing: {name}: {why}" for name, why in missing.items())]
    return "\n".join(out)


def bars(rows: Sequence[Row]) -> list[picture.Bar]:
    return [
        picture.Bar(
            label=f"{r.name} {r.version}, {r.dialect}",
            value=r.ns_consumed,
            note=f"{r.whole_right:.0%} right",
            strong=r.name.startswith("qwenparse"),
        )
        for r in sorted(rows, key=lambda r: r.ns_consumed)
    ]


def _cells(row: Row) -> tuple[str, ...]:
    raised = f" ({row.raised} raised)" if row.raised else ""
    return (
        row.name, row.version, row.dialect, row.what, f"{row.ns_dropped:,.0f}", f"{row.ns_consumed:,.0f}",
        f"{row.calls_right:.1%}", f"{row.text_right:.1%}", f"{row.whole_right:.1%}{raised}",
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers_table", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100, help="turns of the corpus (100)")
    parser.add_argument("--seed", type=int, default=20261)
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the least counts (5; peers 3)")
    parser.add_argument("--svg", type=Path, help="write a picture")
    parser.add_argument("--json", type=Path, help="write the rows")
    options = parser.parse_args(arguments)
    rows, missing = run(options.turns, options.seed, options.rounds)
    about = f"CPython {platform.python_version()}, {platform.machine()}, {options.turns} turns, seed {options.seed}"
    print(f"{about}; CPU time, least of {options.rounds}; text is compared exactly for qwenparse, stripped for others\n")
    print(table(rows, missing))
    if options.json:
        options.json.write_text(json.dumps({"about": about, "rows": [asdict(r) for r in rows], "missing": missing}, indent=1))
    if options.svg:
        options.svg.write_text(picture.bars(bars(rows), TITLE, about))
    problems = judge(rows)
    for problem in problems:
        print(f"\nFAIL: {problem}")
    return 1 if problems else 0


TIMES = {"mlx-lm": 10}
"""Peer -> how many times as long as `qwenparse` it takes for a token, fed by text, results dropped."""


def judge(rows: Sequence[Row]) -> list[str]:
    """What must not be: a wrong turn of ours, a peer that is as fast where it does the same, or nearer than TIMES says, an
    adapter that is broken.

    Streaming is compared with streaming, whole turns by ids with whole turns by ids.
    """
    ours = [r for r in rows if r.name.startswith("qwenparse")]
    others = [r for r in rows if not r.name.startswith("qwenparse")]
    out = [f"{r.name} is right on {r.whole_right:.2%} of the {r.dialect} turns" for r in ours if r.whole_right < 1]
    for o in others:
        if o.whole_right == 0:
            out.append(f"the adapter of {o.name} is right on no {o.dialect} turn: it is broken, not the parser")
        for r in ours:
            if (r.dialect, r.unit) == (o.dialect, o.unit) and r.ns_consumed >= o.ns_consumed:
                out.append(f"{r.name}: {r.ns_consumed:.0f} ns a token ({r.dialect}), {o.name}: {o.ns_consumed:.0f}")
            times = TIMES.get(o.name, 0)
            if (r.dialect, r.name) == (o.dialect, "qwenparse") and o.ns_dropped < times * r.ns_dropped:
                found = o.ns_dropped / r.ns_dropped
                out.append(f"{o.name} takes {found:.1f} times as long as {r.name} ({r.dialect}), not {times}")
    return out


if __name__ == "__main__":
    sys.exit(main())
