"""Sample the tiny model: python -m fuzz.live.sample [--count 256] [--temperatures 0.7,1.0] [--seed 0] [--out DIR]

Prints how well formed the samples are; with --out each becomes a file, a seed for the fuzzers.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fuzz.live.model import LiveModel, Sample

TINY = Path(__file__).with_name("tiny")
STOP = "<|im_end|>"
TEMPERATURES = (0.7, 1.0, 1.3, 1.6)
MAX_TOKENS = 256
# Tags balanced, names plain, nothing but blanks between tags: a rough measure, on purpose not the parser's.
_NAME = r"[\w.-]+"
_PARAMETER = rf"<parameter={_NAME}>(?:(?!</?parameter\b|</?function\b|</?tool_call>).)*</parameter>\s*"
_XML = rf"<function={_NAME}>\s*(?:{_PARAMETER})*</function>"
_CALL = rf"<tool_call>\s*(?:{_XML}|\{{(?:(?!</?tool_call>).)*\}})\s*</tool_call>"
_TURN = re.compile(
    rf"(?:(?:<think>\n)?(?:(?!</?think>|</?tool_call>).)*</think>)?(?:(?!</?think>|</?tool_call>).|{_CALL})*", re.DOTALL
)


@dataclass(frozen=True)
class LiveSample:
    """One completion of the tiny model and how it came about."""

    sample: Sample
    temperature: float
    seed: int


def samples(
    count: int,
    *,
    temperatures: tuple[float, ...] = TEMPERATURES,
    seed: int = 0,
    batch: int = 64,
    model: LiveModel | None = None,
) -> Iterator[LiveSample]:
    """`count` completions, batch by batch, the temperatures in turn. Equal arguments give equal samples."""
    model = model or LiveModel(TINY)
    prompt = model.encode(STOP)
    number = 0
    while number < count:
        temperature = temperatures[seed % len(temperatures)]
        size = min(batch, count - number)
        for sample in model.sample(prompt, size, temperature=temperature, max_tokens=MAX_TOKENS, seed=seed):
            yield LiveSample(sample, temperature, seed)
        number += size
        seed += 1


def well_formed(data: bytes) -> bool:
    """Whether a completion keeps to the canonical shape, by a regular expression."""
    try:
        return _TURN.fullmatch(data.decode()) is not None
    except UnicodeDecodeError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=256)
    parser.add_argument("--temperatures", default=",".join(map(str, TEMPERATURES)))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", type=Path, default=TINY)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    temperatures = tuple(float(t) for t in args.temperatures.split(","))
    started = time.monotonic()
    got = list(samples(args.count, temperatures=temperatures, seed=args.seed, model=LiveModel(args.model)))
    seconds = time.monotonic() - started
    print(f"{len(got)} samples, {sum(len(s.sample.ids) for s in got) / seconds:.0f} tokens/s")
    print("T    samples  ended  well formed  with a call tag  not UTF-8")
    for t in temperatures:
        mine = [s.sample for s in got if s.temperature == t]
        good = sum(well_formed(s.data) for s in mine)
        tags = sum(b"<tool_call>" in s.data for s in mine)
        broken = sum("\ufffd" in s.data.decode(errors="replace") for s in mine)
        print(f"{t:<5}{len(mine):>7}{sum(s.stopped for s in mine):>7}{good:>13}{tags:>17}{broken:>11}")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        for s in got:
            (args.out / hashlib.sha1(s.sample.data).hexdigest()).write_bytes(s.sample.data)


if __name__ == "__main__":
    main()
