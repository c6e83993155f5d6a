"""Line coverage of the .pyx by the test suite: python -m fuzz.linecov [--fail-under 97] [PYTEST-ARGUMENTS]

Builds the core with line tracing in its own tree and lists the lines that no test reaches. A line that cannot be
reached is excused by a comment `# no cover: REASON` on it: it counts as covered and is listed with its reason.
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
    re.compile(r"\s*raise MemoryError$"): "an allocation that fails",
    re.compile(r"\s*@cython\."): "a directive, no code",
}
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
    report = folder / "report.json"
    core = path / "qwenparse" / "_core.pyx"
    # The file is named: coverage asks Cython's plugin about all others too, and it has no answer for a .pxd.
    json_of = [*coverage, "json", "-q", f"--rcfile={config}", "-o", str(report), str(core)]
    subprocess.run(json_of, cwd=path.parent, env=env, check=True)
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    facts = next((f for name, f in files.items() if name.endswith("_core.pyx")), None)
    if facts is None:
        raise SystemExit("the report has no _core.pyx: line tracing is missing")
    lines = core.read_text(encoding="utf-8").splitlines()
    reasons = {n: reason for n in facts["missing_lines"] if (reason := _reason(lines[n - 1]))}
    missing = [n for n in facts["missing_lines"] if n not in reasons]
    total = len(facts["executed_lines"]) + len(facts["missing_lines"])
    percent = 100 * (total - len(missing)) / total
    for n, reason in reasons.items():
        print(f"_core.pyx:{n}: excused: {reason}: {lines[n - 1].strip()}")
    for n in missing:
        print(f"_core.pyx:{n}: not reached: {lines[n - 1].strip()}")
    print(f"_core.pyx: {percent:.1f} % of {total} lines, {len(reasons)} of them excused, {len(missing)} not reached")
    return 0 if percent >= args.fail_under else 1


if __name__ == "__main__":
    sys.exit(main())
