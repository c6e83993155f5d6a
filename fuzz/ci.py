"""What continuous integration runs: python -m fuzz.ci [--runs 12000] [--live 400] [--soak 4000] [--seed 1]

Seeds and numbers of executions are given, so that a change is judged by what it changed; `fuzz.run` and another `--seed` are
for finding what nobody has seen.

In turn, and failing at the first that fails: the trainer (30 steps, its loss must fall), the tiny model sampled now,
every invariant on those samples, on every recorded output of real models and on generated texts; the kept regression
cases; a short campaign of every target with native coverage, one of them with the live mutator; one under ASan and UBSan each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from fuzz import triage
from fuzz.build import ROOT, WORK
from fuzz.run import campaign
from fuzz.targets import NAMES

FAST = ("lossless", "cutting", "specification")
SLOW = {"adapters": 3000, "ollama_mode": 2000}
"""Executions of the targets that make less than a thousand a second."""
MAX_LOSS = 4.6
"""Mean loss of the last 20 of 30 steps; an untrained model has 6.6."""


def step(*arguments: str) -> None:
    """Run a module of this package; SystemExit if it fails."""
    print("+ python -m", *arguments, flush=True)
    if subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT).returncode:
        raise SystemExit(f"failed: python -m {' '.join(arguments)}")


def fuzz(name: str, *, kind: str = "fuzzer", mutator: str = "grammar", runs: int, seed: int, seconds: int = 120) -> None:
    """A short campaign from the seeds, in a corpus of its own."""
    runs = min(runs, SLOW.get(name, runs))
    result = campaign(
        name, kind=kind, mutator=mutator, seconds=seconds, runs=runs, corpus=WORK / "ci" / name, quiet=True, seed=seed
    )
    print(
        f"{name} {kind} {mutator}: {result.executions} executions of {result.mean_bytes:.0f} bytes, {result.rate:.0f}/s, "
        f"{result.edges} of {result.counters} edges",
        flush=True,
    )
    if result.artifact:
        print(result.log[-4000:])
        raise SystemExit(f"{name} found {result.artifact}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=12_000, help="executions of each campaign")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--live", type=int, default=400, help="completions of the tiny model")
    parser.add_argument("--soak", type=int, default=4000, help="generated texts")
    args = parser.parse_args()
    started = time.monotonic()
    step("fuzz.live.train", "--steps", "30", "--out", str(WORK / "smoke"), "--max-loss", str(MAX_LOSS))
    step("fuzz.live.sample", "--count", "64", "--model", str(WORK / "smoke"))
    step("fuzz.soak", "--count", str(args.soak), "--recorded", "--live", str(args.live), "--seed", str(args.seed))
    if triage.CASES.exists():
        for case in sorted(triage.CASES.glob("*.bin")):
            code, log = triage.reproduce(case.stem.split("-", 1)[1], [case])
            if code:
                raise SystemExit(f"{case} fails again:\n{log[-3000:]}")
    for name in NAMES:
        fuzz(name, runs=args.runs, seed=args.seed)
    fuzz("lossless", mutator="live", runs=-1, seed=args.seed, seconds=15)
    for kind in ("fuzzer,address", "fuzzer,undefined"):
        for name in FAST[:2]:
            fuzz(name, kind=kind, runs=args.runs, seed=args.seed)
    print(f"fuzzing done in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
