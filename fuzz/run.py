"""Run a campaign: python -m fuzz.run TARGET [--seconds N | --runs N] [--mutator grammar|live|none] [--kind fuzzer]

Builds the instrumented core, preloads what it needs, writes seeds, runs libFuzzer on fuzz/work/corpus/TARGET (so that a
campaign goes on where the last one stopped) and fails unless native coverage was really there: modules loaded, edges
covered above the target's floor, the custom mutator active. Adds executions and CPU seconds to fuzz/work/totals.json.
A finding is minimised and written as a numbered case (triage.py); the exit status is then 1.

    python -m fuzz.run --list
    python -m fuzz.run --all --seconds 60
    python -m fuzz.run --all --cpu-minutes 30       # go on until each target has had that much in all its campaigns
    python -m fuzz.run TARGET --reproduce FILE...
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from fuzz import process, seeds, triage
from fuzz.build import ROOT, WORK, build
from fuzz.targets import NAMES, facts

MODULES = re.compile(r"INFO: Loaded (\d+) modules\s+\((\d+) inline 8-bit counters\)")
EDGES = re.compile(r"cov: (\d+)")
EXECUTED = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
ARTIFACT = re.compile(r"Test unit written to (\S+)")
MUTATOR = "INFO: found LLVMFuzzerCustomMutator"


class CampaignError(Exception):
    """The campaign did not measure what it should have."""


@dataclass
class Result:
    """What a campaign did. `edges` and `counters` are of the native module; CPU in seconds."""

    target: str
    kind: str
    mutator: str
    executions: int
    mean_bytes: float
    seconds: float
    cpu: float
    counters: int
    edges: int
    artifact: str | None
    log: str

    @property
    def rate(self) -> float:
        """Executions a second."""
        return self.executions / self.seconds if self.seconds else 0.0


def campaign(
    name: str,
    *,
    kind: str = "fuzzer",
    mutator: str = "grammar",
    seconds: int = 60,
    runs: int = -1,
    seed: int = 0,
    corpus: Path | None = None,
    seeds_of: str = "all",
    dictionary: bool = True,
    plant: bool = False,
    max_len: int = 2048,
    quiet: bool = False,
    extra: tuple[str, ...] = (),
) -> Result:
    """One libFuzzer run. CampaignError if coverage or mutator were missing."""
    build(kind, plant=plant)
    corpus = corpus or WORK / "corpus" / name
    artifacts = WORK / "artifacts" / name
    status = WORK / "status" / f"{name}.json"
    for folder in (corpus, artifacts, status.parent):
        folder.mkdir(parents=True, exist_ok=True)
    status.unlink(missing_ok=True)
    status.with_suffix(".inputs").unlink(missing_ok=True)
    arguments = [str(corpus)]
    if seeds_of != "none":
        arguments += [str(p) for p in seeds.folders(seeds_of)]
    arguments += [
        f"-max_total_time={seconds}",
        f"-runs={runs}",
        f"-max_len={max_len}",
        f"-artifact_prefix={artifacts}/",
    ]
    arguments += ["-print_final_stats=1", "-timeout=20", "-rss_limit_mb=4096", "-use_value_profile=0", *extra]
    if seed:
        arguments.append(f"-seed={seed}")
    if dictionary:
        arguments.append(f"-dict={ROOT / 'fuzz' / 'qwen.dict'}")
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = process.start(name, arguments, kind=kind, plant=plant, mutator=mutator, status=status)
    lines = []
    assert child.stdout is not None
    for line in child.stdout:
        lines.append(line)
        if not quiet:
            sys.stderr.write(line)
    child.wait()
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - started
    log = "".join(lines)
    artifact = ARTIFACT.search(log)
    modules, executed = MODULES.search(log), EXECUTED.search(log)
    result = Result(
        target=name,
        kind=kind,
        mutator=mutator,
        executions=int(executed[1]) if executed else max(map(int, re.findall(r"^#(\d+)", log, re.M)), default=0),
        mean_bytes=_mean(status.with_suffix(".inputs")),
        seconds=wall,
        cpu=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        counters=int(modules[2]) if modules else 0,
        edges=max(map(int, EDGES.findall(log)), default=0),
        artifact=artifact[1] if artifact else None,
        log=log,
    )
    if artifact is None:
        _check(result, child.returncode, status)
    if not plant:
        _add(result)
    return result


def _mean(path: Path) -> float:
    if not path.exists():
        return 0.0
    seen = json.loads(path.read_text(encoding="utf-8"))
    return float(seen["bytes"] / seen["inputs"])


def _check(result: Result, code: int, status: Path) -> None:
    native, floor, _ = facts(result.target)
    tail = "\n" + result.log[-2000:]
    if code != 0:
        raise CampaignError(f"{result.target}: the process ended with status {code}{tail}")
    if result.kind == "plain":
        return
    if "INITED" not in result.log:
        raise CampaignError(f"{result.target}: the time was too short to read the seeds{tail}")
    if native and result.counters < 1000:
        raise CampaignError(f"{result.target}: no native coverage ({result.counters} counters){tail}")
    if result.edges < floor:
        raise CampaignError(f"{result.target}: {result.edges} edges covered, fewer than {floor}{tail}")
    if result.mutator != "none":
        if MUTATOR not in result.log or not status.exists():
            raise CampaignError(f"{result.target}: the custom mutator was not active{tail}")
        did = json.loads(status.read_text(encoding="utf-8"))
        if not did["calls"] or (result.mutator == "live" and not did["model_calls"]):
            raise CampaignError(f"{result.target}: the mutator did nothing: {did}")


def _totals() -> dict[str, dict[str, float]]:
    path = WORK / "totals.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def left(minutes: float, name: str, kind: str, totals: dict[str, dict[str, float]]) -> int:
    """The seconds of the next campaign if all those of a target are to add up to so much CPU time; 0: they do."""
    rest = 60 * minutes - totals.get(f"{name} {kind}", {}).get("cpu", 0.0)
    return max(round(rest), 30) if rest > 0 else 0


def _add(result: Result) -> None:
    totals = _totals()
    row = totals.setdefault(f"{result.target} {result.kind}", {"campaigns": 0, "executions": 0, "cpu": 0.0, "edges": 0})
    row["campaigns"] += 1
    row["executions"] += result.executions
    row["cpu"] = round(row["cpu"] + result.cpu, 1)
    row["edges"] = max(row["edges"], result.edges)
    (WORK / "totals.json").write_text(json.dumps(totals, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _campaigns(name: str, args: argparse.Namespace) -> bool:
    """The campaigns of one target that the command line asks for. False: one of them found something."""
    while seconds := args.seconds if args.cpu_minutes is None else left(args.cpu_minutes, name, args.kind, _totals()):
        result = campaign(
            name,
            kind=args.kind,
            mutator=args.mutator,
            seconds=seconds,
            runs=args.runs,
            seed=args.seed,
            corpus=args.corpus,
            seeds_of="none" if args.no_seeds else "all",
            max_len=args.max_len,
            dictionary=not args.no_dict,
            plant=args.plant,
            quiet=args.quiet,
        )
        row = {k: round(v, 1) if isinstance(v, float) else v for k, v in asdict(result).items() if k != "log"}
        print(json.dumps(row | {"rate": round(result.rate)}), flush=True)
        if result.artifact:
            if not args.plant:
                print(triage.keep(name, Path(result.artifact), kind=args.kind))
            return False
        if args.minimize:
            triage.minimize_corpus(name, kind=args.kind, corpus=args.corpus)
        if args.cpu_minutes is None:
            break
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", action="store_true", help="every target in turn")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--cpu-minutes", type=float, help="instead: until the target's campaigns add up to so much CPU time")
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--mutator", choices=("none", "grammar", "live"), default="grammar")
    parser.add_argument("--kind", default="fuzzer", help="fuzzer, or fuzzer,address, or fuzzer,undefined")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--max-len", type=int, default=2048, help="bytes of the longest input (default %(default)s)")
    parser.add_argument("--no-seeds", action="store_true")
    parser.add_argument("--no-dict", action="store_true")
    parser.add_argument("--plant", action="store_true", help="fuzz the build with the planted bug")
    parser.add_argument("--reproduce", type=Path, nargs="+", metavar="FILE", help="run these inputs once and stop")
    parser.add_argument("--minimize", action="store_true", help="minimise the corpus afterwards")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(NAMES))
        return
    names = NAMES if args.all else args.target
    if not names:
        parser.error("name a target, or --all")
    if args.reproduce:
        for name in names:
            code, log = triage.reproduce(name, args.reproduce, kind=args.kind, plant=args.plant)
            print(log)
            if code:
                raise SystemExit(code)
        return
    found = sum(not _campaigns(name, args) for name in names)
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
