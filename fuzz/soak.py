"""Every invariant on many texts, without instrumentation: python -m fuzz.soak [--count N] [--recorded] [--live N]

--count N     completions of the grammar, every second one damaged (seeds --seed onwards), random settings
--recorded    every recorded output of a real model (fuzz/corpora), with its prefill
--live N      completions sampled now from the tiny model at T 0.7, 1.0, 1.3, 1.6
A text of a model is read with tools known and unknown, from each start state, in every way of cutting; generated ones
go once through every target (or those named) with the settings of their header. Failures are grouped by where they were
raised, the shortest input of each group is shown and written to fuzz/work/soak/; exit status 1 if there are any.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from fuzz import checks, seeds, targets
from fuzz.build import WORK
from fuzz.settings import HEADER, Settings, settings
from qwenparse._grammar import Grammar, mutate
from qwenparse.tokens import TokenTable

WAYS = (0, 1, 2, 3, 6, 7, 42, 43)
"""Cut bytes: characters, bytes, then random places in text and in bytes."""


@dataclass
class Failures:
    """Failures by (check, exception, place): how many, and the shortest input."""

    groups: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    shortest: dict[tuple[str, str, str], tuple[bytes, str]] = field(default_factory=dict)
    checks: int = 0

    def run(self, name: str, check: Callable[[], object], data: bytes) -> None:
        """Run one check; note its failure."""
        self.checks += 1
        try:
            check()
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            key = (name, type(error).__name__, f"{place.name}:{place.lineno}")
            self.groups.setdefault(key, [0])[0] += 1
            if key not in self.shortest or len(data) < len(self.shortest[key][0]):
                self.shortest[key] = (data, str(error))

    def report(self) -> int:
        """Print and write the failures; their number."""
        folder = WORK / "soak"
        folder.mkdir(parents=True, exist_ok=True)
        for number, (key, (count,)) in enumerate(sorted(self.groups.items(), key=lambda g: -g[1][0])):
            data, text = self.shortest[key]
            (folder / f"{number:02}-{key[0]}.bin").write_bytes(data)
            print(f"{count} x {' '.join(key)}\n  {data!r}\n  {text[:1200]}")
        return sum(g[0] for g in self.groups.values())


def generated(count: int, seed: int) -> Iterator[bytes]:
    """Inputs with random headers, every second one damaged."""
    for i in range(seed, seed + count):
        rng = random.Random(i)
        text = Grammar(rng, rng.choice((0.0, 0.05, 0.15, 0.3))).completion().encode("utf-8", "surrogatepass")
        if i % 2:
            text = mutate(rng, text)
        yield bytes(rng.randrange(256) if rng.random() < 0.5 else 0 for _ in range(HEADER)) + text


@dataclass(frozen=True)
class Text:
    """What a model wrote, with its token ids if they are known."""

    body: bytes
    ids: tuple[int, ...] = ()
    table: TokenTable | None = None


def of_model(failures: Failures, text: Text) -> None:
    """Every check on one text of a model."""
    body = text.body
    defaults = settings(b"")[0]
    header = bytes(HEADER)
    for tools in (0, 1):
        for start in ("reasoning", "content"):
            s: Settings = defaults._replace(tools=tools, start=start)
            failures.run("specification", partial(checks.specification, s, body), header + body)
            failures.run("joined", partial(checks.joined, s, body), header + body)
            failures.run("rendered", partial(checks.rendered, s, body), header + body)
            for way in WAYS:
                header = bytes((0, tools, 0, way << 2))
                failures.run("cut", partial(checks.cut, s, body, way), header + body)
                failures.run("prefix", partial(checks.prefix, s, body, way), header + body)
            for way in WAYS[:4]:
                failures.run("deltas", partial(checks.accumulated, s, body, way), header + body)
            if text.table is not None:
                rng = random.Random(len(body))
                failures.run("ids", partial(checks.token_ids, s, text.ids, text.table, rng), header + body)
        failures.run("policies", partial(checks.policies, s, body), header + body)


def live(count: int, seed: int) -> Iterator[Text]:
    """Completions sampled now from the tiny model."""
    from fuzz.live.model import LiveModel
    from fuzz.live.sample import TINY, samples

    model = LiveModel(TINY)
    for s in samples(count, seed=seed, model=model):
        yield Text(s.sample.data, s.sample.ids, model.table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=list(targets.NAMES), metavar="TARGET")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--live", type=int, default=0)
    args = parser.parse_args()
    failures, started, inputs, size = Failures(), time.monotonic(), 0, 0
    modules = [(name, targets.load(name)) for name in args.targets]
    for data in generated(args.count, args.seed):
        for name, module in modules:
            failures.run(name, partial(module.one, data), data)
        inputs, size = inputs + 1, size + len(data)
    texts: list[Iterator[Text]] = []
    if args.recorded:
        texts.append(map(Text, seeds.recorded()))
    if args.live:
        texts.append(live(args.live, args.seed))
    for source in texts:
        for text in source:
            of_model(failures, text)
            inputs, size = inputs + 1, size + len(text.body)
    found = failures.report()
    seconds = time.monotonic() - started
    mean = size / max(inputs, 1)
    print(f"{inputs} texts, {mean:.0f} bytes each, {failures.checks} checks, {found} failures, {seconds:.0f} s")
    sys.exit(1 if found or not inputs else 0)


if __name__ == "__main__":
    main()
