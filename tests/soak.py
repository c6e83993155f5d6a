"""Soak: the core against the executable specification, and every invariant under several cuttings.

    python tests/soak.py --runs 200000 [--seed N] [--prefixes 2000] [--lexemes 6]

Prints the seed; exits 1 at the first difference, after shrinking the input.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from typing import Any

import lexemes
from spec_parser import parse_spec

import qwenparse
from qwenparse.testing import check


def of_core(turn: qwenparse.Turn) -> dict[str, Any]:
    """What the specification says too, of a turn."""
    cut = turn.cut_call
    return {
        "spans": [tuple(span) for span in turn.spans],
        "issues": sorted((i.code, -1 if i.index is None else i.index) for i in turn._issues),
        "calls": [(c.index, c.name, list(c.arguments_recorded), c.complete) for c in turn.calls],
        "cut_call": None if cut is None else (cut.index, cut.name),
        "clean": (turn.reasoning, turn.content, turn.complete),
    }


def of_spec(result: Any) -> dict[str, Any]:
    cut = result.cut_call
    return {
        "spans": [tuple(span) for span in result.spans],
        "issues": sorted((code, -1 if index is None else index) for code, index in result.issues),
        "calls": [(c.index, c.name, [tuple(a) for a in c.args], c.complete) for c in result.calls],
        "cut_call": None if cut is None else (cut.index, cut.name),
        "clean": (result.reasoning, result.content, result.complete),
    }


def differs(text: str, stop: str, settings: dict[str, Any]) -> list[str]:
    """The names of what core and specification disagree on."""
    core = of_core(qwenparse.parse(text, stop=stop, **settings))
    spec = of_spec(parse_spec(text, stop=stop, **settings))
    return [name for name in core if core[name] != spec[name]]


def shrink(text: str, fails: Any) -> str:
    """A shorter input that still fails."""
    size = max(1, len(text) // 2)
    while size:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + size :]
            if fails(shorter):
                text = shorter
            else:
                at += size
        size //= 2
    return text


def wound(rng: random.Random, text: str) -> str | bytes:
    """Sometimes bytes, sometimes broken ones."""
    if rng.random() < 0.7:
        return text
    raw = bytearray(text.encode())
    for _ in range(rng.randint(0, 3)):
        if raw:
            raw[rng.randrange(len(raw))] = rng.choice((0x80, 0xFF, 0xE4, 0xF0, 0xC3, 0xED))
    return bytes(raw)


def one(rng: random.Random, seed: int, *, every_prefix: bool) -> None:
    text = lexemes.text(rng)
    settings = lexemes.settings(rng)
    stop = rng.choice(lexemes.STOPS)
    if differs(text, stop, settings):
        short = shrink(text, lambda t: differs(t, stop, settings))
        sys.exit(f"core and specification differ in {differs(short, stop, settings)}: {short!r} {stop} {settings}")
    data = wound(rng, text[:300] if every_prefix else text)

    def broken(d: Any) -> bool:
        try:
            check(d, stop=stop, seed=seed, every_prefix=every_prefix, **settings)
        except AssertionError:
            return True
        return False

    if broken(data):
        short = data if isinstance(data, bytes) else shrink(data, broken)
        sys.exit(f"an invariant is broken: {short!r} {stop} {settings}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--prefixes", type=int, default=2_000, help="runs that also check every prefix")
    parser.add_argument("--lexemes", type=int, default=4, help="all sequences of up to that many lexemes")
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().getrandbits(32)
    print(f"seed {seed}", flush=True)
    began = time.monotonic()
    count = 0
    for length in range(1, args.lexemes + 1):
        for text in lexemes.sequences(length):
            for stop in ("none", "im_end"):
                settings = {"format": "qwen3.5", "tools": lexemes.TOOLS, "start": lexemes.STARTS[count % 3]}
                wrong = differs(text, stop, settings)
                if wrong:
                    sys.exit(f"core and specification differ in {wrong}: {text!r} {stop} {settings}")
                count += 1
        print(f"{count:,} sequences of up to {length} lexemes, {time.monotonic() - began:.0f} s", flush=True)
    rng = random.Random(seed)
    for k in range(args.runs):
        one(rng, k, every_prefix=k < args.prefixes)
        if (k + 1) % 20_000 == 0:
            print(f"{k + 1:,} inputs, {time.monotonic() - began:.0f} s", flush=True)
    print(f"clean: {count:,} sequences, {args.runs:,} inputs x cuttings, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
