"""The instrumented process: its build, its preloads, its command line."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from fuzz.build import ROOT, build


def environment(kind: str, path: Path, *, mutator: bool = True) -> dict[str, str]:
    """Environment of an instrumented process: PYTHONPATH, preloads, sanitizer options."""
    spec = importlib.util.find_spec("atheris")
    if spec is None or spec.origin is None:
        raise SystemExit("atheris is not installed")
    site = Path(spec.origin).parent.parent
    engine = "asan_with_fuzzer.so" if "address" in kind.split(",") else "ubsan_with_fuzzer.so"
    preload = [str(site / engine)]
    if mutator:
        preload += map(str, sorted((site / "atheris").glob("custom_mutator.cpython-*.so")))
        if len(preload) < 2:
            raise SystemExit(f"no custom_mutator module in {site / 'atheris'}")
    return dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([str(path), str(ROOT), str(ROOT / "tests")]),
        LD_PRELOAD=":".join(preload),
        ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:abort_on_error=0",
        UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
    )


def start(
    name: str, arguments: list[str], *, kind: str, plant: bool = False, mutator: str = "none", status: Path
) -> subprocess.Popen[str]:
    """Start `fuzz.harness` on a target; stdout holds both streams."""
    path = build(kind, plant=plant)
    command = [
        sys.executable,
        "-m",
        "fuzz.harness",
        name,
        "--mutator",
        mutator,
        "--status",
        str(status),
        "--",
        *arguments,
    ]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(kind, path, mutator=mutator != "none"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
