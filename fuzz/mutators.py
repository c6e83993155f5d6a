"""Custom mutators for atheris: `GrammarMutator`, and `LiveMutator`, which asks a language model in the fuzzing process.

An input is a header of `HEADER` bytes (settings and cuts, see settings.py) and a completion. Mutators keep the two
apart. libFuzzer leaves by `_exit`, so what a mutator did is written to a status file as it goes; the runner reads it,
because a custom mutator that is not preloaded is ignored without a word.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from fuzz.settings import HEADER
from qwenparse import _grammar as grammar

Native = Callable[[bytes, int], bytes]


class GrammarMutator:
    """Mostly libFuzzer's own mutation (`native`); every `share`th time one of `grammar.mutate`."""

    def __init__(self, native: Native, status: Path, *, share: float = 0.2) -> None:
        self.native = native
        self.status = status
        self.share = share
        self.calls = 0
        self.facts: dict[str, float] = {"structured": 0}

    def __call__(self, data: bytes, max_size: int, seed: int) -> bytes:
        """A mutation of `data`, at most `max_size` bytes."""
        self.calls += 1
        if self.calls & (self.calls - 1) == 0 or self.calls % 16384 == 0:
            self.report()
        rng = random.Random(seed)
        if rng.random() >= self.share or max_size <= HEADER:
            return self.native(data, max_size)
        self.facts["structured"] += 1
        head = data[:HEADER].ljust(HEADER, b"\0")
        if rng.random() < 0.1:
            head = bytes(rng.randrange(256) if rng.random() < 0.5 else b for b in head)
        return head + self.change(rng, data[HEADER:], max_size - HEADER)

    def change(self, rng: random.Random, body: bytes, max_size: int) -> bytes:
        """The structured mutation of a body."""
        return grammar.mutate(rng, body, max_size)

    def report(self) -> None:
        """Write the counts to the status file."""
        self.status.write_text(json.dumps({"mutator": type(self).__name__, "calls": self.calls, **self.facts}), "utf-8")


class LiveMutator(GrammarMutator):
    """Continuations by the tiny model. It is given the beginning of an input, cut at a random place, or nothing, and
    samples a batch at a random temperature; the texts are spliced into inputs until the next batch. At most `budget` of
    the time since the first call goes to the model. Knows neither grammar nor dictionary."""

    BATCH = 32
    TOKENS = 96
    POOL = 256

    def __init__(self, native: Native, status: Path, *, share: float = 0.2, budget: float = 0.25) -> None:
        from fuzz.live.model import LiveModel
        from fuzz.live.sample import STOP, TINY

        super().__init__(native, status, share=share)
        self.model = LiveModel(TINY)
        self.start = self.model.encode(STOP)
        self.budget = budget
        self.pool: list[bytes] = []
        self.began = time.monotonic()
        self.facts |= {"model_calls": 0, "model_tokens": 0, "model_seconds": 0.0}

    def change(self, rng: random.Random, body: bytes, max_size: int) -> bytes:
        """A sampled text, or the beginning of the body and the end of one, or one with a hole."""
        if not self.pool or self.facts["model_seconds"] < self.budget * (time.monotonic() - self.began):
            self.ask(rng, body)
        text = rng.choice(self.pool)
        at, end = rng.randrange(len(text) + 1), rng.randrange(len(body) + 1)
        return (text, text, body[:end] + text, body[:end] + text[at:], text[:at] + body[end:])[rng.randrange(5)][:max_size]

    def ask(self, rng: random.Random, body: bytes) -> None:
        """One batch of the model: new texts for the pool."""
        started = time.monotonic()
        prefix = body[: rng.randrange(len(body) + 1)][-300:] if rng.random() < 0.5 else b""
        prompt = [*self.start, *self.model.encode(prefix.decode("utf-8", "replace"))]
        temperature = rng.choice((0.7, 1.0, 1.3, 1.6))
        got = self.model.sample(prompt, self.BATCH, temperature=temperature, max_tokens=self.TOKENS, seed=rng.getrandbits(32))
        self.pool = (self.pool + [prefix + s.data for s in got])[-self.POOL :]
        self.facts["model_calls"] += 1
        self.facts["model_tokens"] += sum(len(s.ids) for s in got)
        self.facts["model_seconds"] += time.monotonic() - started
        self.report()


MUTATORS: dict[str, type[GrammarMutator]] = {"grammar": GrammarMutator, "live": LiveMutator}
