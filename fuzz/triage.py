"""Findings: minimise an input, keep it as a numbered regression case, run kept inputs again, minimise a corpus.

    python -m fuzz.triage TARGET FILE...      # minimise and keep
    python -m fuzz.triage TARGET --corpus     # minimise fuzz/work/corpus/TARGET

A case is tests/data/regressions/NNN-TARGET.bin (the input, header first) and a line in index.jsonl beside it; the test
suite runs every case through its target. Numbers are never used again.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from fuzz import process
from fuzz.build import ROOT, WORK

CASES = ROOT / "tests" / "data" / "regressions"


def _run(name: str, arguments: list[str], *, kind: str, plant: bool = False, seconds: int) -> tuple[int, str]:
    status = WORK / "status" / f"{name}-triage.json"
    status.parent.mkdir(parents=True, exist_ok=True)
    child = process.start(name, arguments, kind=kind, plant=plant, status=status)
    try:
        log = child.communicate(timeout=seconds + 60)[0]
    except subprocess.TimeoutExpired:
        child.kill()
        log = child.communicate()[0]
    return child.returncode, log


def reproduce(name: str, files: list[Path], *, kind: str = "fuzzer", plant: bool = False) -> tuple[int, str]:
    """Run inputs once: the process's status, not 0 if one of them fails, and its output."""
    return _run(name, [str(f.resolve()) for f in files], kind=kind, plant=plant, seconds=60 * len(files))


def failure(log: str) -> str:
    """The line that names a failure: the Python exception, or the sanitizer's summary."""
    for pattern in (
        r"^SUMMARY: (?!libFuzzer)(.*)$",
        r"^(\w[\w.]*(?:Error|Exception|Warning|Interrupt)\b.*)$",
        r"^SUMMARY: (.*)$",
    ):
        found = re.findall(pattern, log, re.MULTILINE)
        if found:
            return str(found[0])[:300]
    return "unknown failure"


def minimize(name: str, file: Path, *, kind: str = "fuzzer", seconds: int = 60) -> tuple[bytes, str]:
    """The smallest input libFuzzer finds in that time that still fails, and what it fails with."""
    code, log = reproduce(name, [file], kind=kind)
    if code == 0:
        raise SystemExit(f"{file} does not fail {name}")
    what = failure(log)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        arguments = [
            "-minimize_crash=1",
            f"-max_total_time={seconds}",
            f"-exact_artifact_path={out}",
            str(file.resolve()),
        ]
        _run(name, arguments, kind=kind, seconds=seconds)
        if out.exists() and out.stat().st_size < file.stat().st_size:
            code, log = reproduce(name, [out], kind=kind)
            if code != 0 and failure(log) == what:
                return out.read_bytes(), what
    return file.read_bytes(), what


def keep(name: str, file: Path, *, kind: str = "fuzzer") -> Path:
    """Minimise `file` and write it as the next case, unless the same input is kept already."""
    data, what = minimize(name, file, kind=kind)
    CASES.mkdir(parents=True, exist_ok=True)
    for known in CASES.glob(f"*-{name}.bin"):
        if known.read_bytes() == data:
            return known
    index = CASES / "index.jsonl"
    rows = [json.loads(r) for r in index.read_text(encoding="utf-8").splitlines()] if index.exists() else []
    number = 1 + max((r["number"] for r in rows), default=0)
    path = CASES / f"{number:03}-{name}.bin"
    path.write_bytes(data)
    with index.open("a", encoding="utf-8") as out:
        out.write(json.dumps({"number": number, "target": name, "kind": kind, "failure": what}) + "\n")
    return path


def minimize_corpus(name: str, *, kind: str = "fuzzer", corpus: Path | None = None) -> tuple[int, int]:
    """Replace the working corpus by a smallest one of the same coverage; number of files before and after."""
    corpus = corpus or WORK / "corpus" / name
    fresh = corpus.with_name(corpus.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    code, log = _run(name, ["-merge=1", str(fresh), str(corpus)], kind=kind, seconds=1800)
    before, after = len(list(corpus.iterdir())), len(list(fresh.iterdir()))
    if code != 0 or (before and not after):
        shutil.rmtree(fresh, ignore_errors=True)
        raise SystemExit(f"merging {corpus} failed:\n{log[-2000:]}")
    shutil.rmtree(corpus)
    fresh.rename(corpus)
    return before, after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--kind", default="fuzzer")
    parser.add_argument("--corpus", action="store_true")
    args = parser.parse_args()
    if args.corpus:
        before, after = minimize_corpus(args.target, kind=args.kind)
        print(f"{args.target}: {before} -> {after} files")
    for file in args.files:
        print(keep(args.target, file, kind=args.kind))


if __name__ == "__main__":
    main()
