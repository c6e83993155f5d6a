"""Build the core for fuzzing: python -m fuzz.build [fuzzer | fuzzer,address | fuzzer,undefined | …] [--plant]

Each kind has its own directory, fuzz/work/build/KIND, with a copy of the package in it; nothing is built in place,
because an instrumented module cannot be imported without its preload. Needs clang for every kind with `fuzzer`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "fuzz" / "work"
IGNORED = shutil.ignore_patterns("*.so", "*.c", "__pycache__", "*.html")


def directory(kind: str, plant: bool = False) -> Path:
    """Where the package of that kind is put."""
    return WORK / "build" / (kind.replace(",", "-") + ("-plant" if plant else ""))


def build(kind: str, *, plant: bool = False, force: bool = False) -> Path:
    """Build if a source is newer than the module; the directory to put on PYTHONPATH."""
    target = directory(kind, plant)
    sources = [ROOT / "setup.py", *(ROOT / "src" / "qwenparse").rglob("*.py*")]
    newest = max(p.stat().st_mtime for p in sources if p.suffix in (".pyx", ".pxd", ".py", ".pyi"))
    modules = list((target / "qwenparse").glob("_core*.so"))
    if not force and modules and min(m.stat().st_mtime for m in modules) > newest:
        return target
    shutil.rmtree(target, ignore_errors=True)
    # The tree is copied first: Cython writes its C file beside the source.
    tree = target / "tree"
    tree.mkdir(parents=True)
    shutil.copytree(ROOT / "src", tree / "src", ignore=IGNORED)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    env = dict(os.environ, QWENPARSE_SANITIZE=kind)
    env.pop("QWENPARSE_PLANT", None)
    if plant:
        env["QWENPARSE_PLANT"] = "1"
    if sys.platform == "linux":
        env |= {"CC": "clang", "CXX": "clang++", "LDSHARED": "clang -shared"}
    command = [
        sys.executable,
        "setup.py",
        "-q",
        "build_ext",
        "--build-lib",
        str(target),
        "--build-temp",
        str(target / "temp"),
    ]
    subprocess.run(command, cwd=tree, env=env, check=True)
    shutil.copytree(ROOT / "src" / "qwenparse", target / "qwenparse", ignore=IGNORED, dirs_exist_ok=True)
    shutil.rmtree(target / "temp", ignore_errors=True)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", default="fuzzer")
    parser.add_argument("--plant", action="store_true", help="with the planted bug, to measure the fuzzers")
    parser.add_argument("--force", action="store_true")
    args = parser.parse_args()
    print(build(args.kind, plant=args.plant, force=args.force))


if __name__ == "__main__":
    main()
