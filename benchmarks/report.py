"""Measures everything and writes it into docs/performance.md: the table of ways to feed, the table of peers, the picture.

    python -m benchmarks.report [--turns 100] [--out docs]

Run it where `python -m benchmarks.peers_install DIR` put the peers. Only what stands between the markers of the page is
written; exits 1 if a limit or a claim of the page does not hold, after writing what was found.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import qwenparse

from . import peers_table, per_token, picture

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Measured:
    """One run of both benchmarks."""

    about: str
    ways: dict[str, float]
    tokens: int
    peers: list[peers_table.Row]
    missing: dict[str, str]


def processor() -> str:
    """The processor's name, as far as the system tells."""
    try:
        names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def measure(turns: int, seed: int, rounds: int) -> Measured:
    bench = per_token.Bench(turns, seed, rounds)
    ways = bench.rows()
    rows, missing = peers_table.run(turns, seed, rounds)
    about = (
        f"qwenparse {qwenparse.__version__}, CPython {platform.python_version()}, tokenizers {version('tokenizers')}, "
        f"{platform.system()} {platform.machine()}, {processor()}; {turns} turns, seed {seed}, least of {rounds} rounds"
    )
    return Measured(about, ways, bench.tokens, rows, missing)


def ways_table(found: Measured) -> str:
    """Markdown: nanoseconds per token, and how often that is the floor row of the same kind."""
    one, consumed = found.ways["floor: list with one event"], found.ways["floor: list with one event, consumed"]
    out = [f"{found.about}; {found.tokens:,} tokens.", "", "| fed how | ns/token | × floor | limit |", "|---|---|---|---|"]
    for name, ns in found.ways.items():
        base = consumed if "consumed" in name else one
        limit = per_token.LIMITS.get(name)
        kept = "" if limit is None else f"{limit[1]} {'' if ns <= limit[1] * found.ways[limit[0]] else '**missed**'}".strip()
        out.append(f"| {name} | {ns:.1f} | {ns / base:.2f} | {kept} |")
    return "\n".join(out)


def written(page: str, name: str, text: str) -> str:
    """The page with this text between its markers. Raises `ValueError` without them."""
    begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no place for {name!r}")
    return head + begin + text + end + tail


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20261)
    parser.add_argument("--rounds", type=int, default=9, help="rounds, of which the least counts (9; peers at most 3)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="where performance.md is (docs)")
    options = parser.parse_args(arguments)
    found = measure(options.turns, options.seed, options.rounds)
    file = options.out / "performance.md"
    page = file.read_text("utf-8")
    page = written(page, "ways", ways_table(found))
    page = written(page, "peers", peers_table.table(found.peers, found.missing))
    file.write_text(page, "utf-8")
    drawn = picture.bars(peers_table.bars(found.peers), peers_table.TITLE, found.about)
    (options.out / "performance.svg").write_text(drawn, "utf-8")
    problems = per_token.over(found.ways) + peers_table.judge(found.peers)
    for problem in problems:
        print(f"NOT SO: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
