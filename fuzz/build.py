"""Build the core for fuzzing: python -m fuzz.build [fuzzer | fuzzer,address | fuzzer,undefined | …] [--plant]

Each kind has its own directory, fuzz/work/build/KIND, with a copy of the package in it; nothing is built in place,
because an instrumented module cannot be imported without its preload. Sanitizers are clang's.
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
SANITIZERS = ("fuzzer", "address", "undefined")
IGNORED = shutil.ignore_patterns("*.so", "*.c", "__pycache__", "*.html")


def directory(kind: str, plant: bool = False) -> Path:
    """Where the tree of that kind is."""
    return WORK / "build" / (kind.replace(",", "-") + ("-plant" if plant else ""))


def build(kind: str, *, plant: bool = False, force: bool = False) -> Path:
    """Copy the package and build it there, if a source is newer than the module; the directory for PYTHONPATH.

    `kind` is a comma list of `SANITIZERS`, or `coverage` (line tracing of the .pyx), or `plain`.
    """
    unknown = sorted(set(kind.split(",")) - {*SANITIZERS, "coverage", "plain"})
    if unknown:
        raise SystemExit(f"unknown kind {', '.join(unknown)}; the kinds are {', '.join(SANITIZERS)}, coverage, plain")
    tree = directory(kind, plant)
    package = tree / "src" / "qwenparse"
    sources = [
        ROOT / "setup.py",
        Path(__file__),
        *(p for p in (ROOT / "src" / "qwenparse").rglob("*") if _is_source(p)),
    ]
    newest = max(p.stat().st_mtime for p in sources)
    modules = list(package.glob("_core*.so"))
    if not force and modules and min(m.stat().st_mtime for m in modules) > newest:
        return tree / "src"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "qwenparse", package, ignore=IGNORED)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    env = {k: v for k, v in os.environ.items() if not k.startswith("QWENPARSE_")}
    if plant:
        from fuzz.plant import write

        write(package / "machine")
    if kind == "coverage":
        env["QWENPARSE_COVERAGE"] = "1"
    elif kind != "plain":
        env["QWENPARSE_SANITIZE"] = kind
        if sys.platform == "linux":
            # Calls on every comparison halve the speed and find nothing that the dictionary does not (docs/fuzzing.md).
            flags = f"-fno-sanitize-coverage=trace-cmp -fsanitize-ignorelist={ROOT / 'fuzz' / 'ubsan.ignore'}"
            env |= {"CC": "clang", "CXX": "clang++", "LDSHARED": "clang -shared", "CFLAGS": flags}
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=tree, env=env, check=True)
    return tree / "src"


def _is_source(path: Path) -> bool:
    return path.suffix in (".py", ".pyx", ".pxd", ".pxi", ".pyi", ".jinja") and "__pycache__" not in path.parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", default="fuzzer")
    parser.add_argument("--plant", action="store_true", help="with the planted bug, to measure the fuzzers")
    parser.add_argument("--force", action="store_true")
    args = parser.parse_args()
    print(build(args.kind, plant=args.plant, force=args.force))


if __name__ == "__main__":
    main()
