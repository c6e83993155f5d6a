"""Line coverage of the core by the test suite: python -m fuzz.linecov [--fail-under 97] [PYTEST-ARGUMENTS]

Builds the core (`_core.pyx`, `machine/*.pxi`) with line tracing in its own tree and lists the lines that no test reaches.
A line that cannot be reached is excused by a comment `# no cover: REASON` on it: it counts as covered and is listed with
its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys

from fuzz.build import ROOT, WORK, build

EXCUSE = "# no cover: "
EXCUSED = {
    re.compile(r"\s*(raise MemoryError|ids\.at = ids\.few)$"): "an allocation that fails",
    re.compile(r"\s*(PyBuffer_Release|_ids_free|free|self\._fail)\("): "a way out of `try`: C has it twice, one copy with lines",
}
NO_CODE = re.compile(r"\S|\s*@|\s+cdef [^=]*\(|\s+formats\.State\.")
"""Lines that are not traced in an included file: what runs at import, and the heads of functions."""
TESTS = ("core", "tokens", "fuzzing", "roundtrip", "adapters/test_sources.py", "test_spec_parser.py")
"""The tests that are about the core; traced, they take some minutes."""


def _reason(line: str) -> str:
    if EXCUSE in line:
        return line.partition(EXCUSE)[2]
    return next((reason for pattern, reason in EXCUSED.items() if pattern.match(line)), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fail-under", type=float, default=97.0)
    parser.add_argument("--report", action="store_true", help="report what the last run covered")
    args, rest = parser.parse_known_args()
    path = build("coverage")
    folder = WORK / "linecov"
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "coveragerc"
    config.write_text(f"[run]\nplugins = Cython.Coverage\nsource = qwenparse\ndata_file = {folder / 'data'}\n", "utf-8")
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(path), str(ROOT)]), QWENPARSE_SANITIZED="coverage")
    # Cython's plugin finds the C files from the tree's root.
    tests = [
        *(str(ROOT / "tests" / name) for name in TESTS),
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(ROOT),
        "-q",
        "-p",
        "no:cacheprovider",
        # The tracer is Python code between any two lines of the core, so it lets other threads in there.
        "-k",
        "not shared_by_threads",
    ]
    coverage = [sys.executable, "-m", "coverage"]
    command = [*coverage, "run", f"--rcfile={config}", "-m", "pytest", *tests, *rest]
    if not args.report and (code := subprocess.run(command, cwd=path.parent, env=env).returncode):
        return code
    package = path / "qwenparse"
    sources = [package / "_core.pyx", *sorted((package / "machine").glob("*.pxi"))]
    report = folder / "report.json"
    # The files are named: coverage asks Cython's plugin about all others too, and it has no answer for a .pxd.
    json_of = [*coverage, "json", "-q", f"--rcfile={config}", "-o", str(report), *map(str, sources)]
    subprocess.run(json_of, cwd=path.parent, env=env, check=True)
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    total = excused = unreached = 0
    for source in sources:
        name = source.relative_to(package).as_posix()
        facts = next((f for traced, f in files.items() if traced.endswith(name)), None)
        if facts is None:
            raise SystemExit(f"the report has no {name}: line tracing is missing")
        lines = source.read_text(encoding="utf-8").splitlines()
        unmet = [n for n in facts["missing_lines"] if not NO_CODE.match(lines[n - 1])]
        reasons = {n: reason for n in unmet if (reason := _reason(lines[n - 1]))}
        missing = [n for n in unmet if n not in reasons]
        for n, reason in reasons.items():
            print(f"{name}:{n}: excused: {reason}: {lines[n - 1].strip()}")
        for n in missing:
            print(f"{name}:{n}: not reached: {lines[n - 1].strip()}")
        total += len(facts["executed_lines"]) + len(unmet)
        excused, unreached = excused + len(reasons), unreached + len(missing)
    percent = 100 * (total - unreached) / total
    print(f"the core: {percent:.1f} % of {total} lines, {excused} of them excused, {unreached} not reached")
    return 0 if percent >= args.fail_under else 1


if __name__ == "__main__":
    sys.exit(main())
