"""The process that fuzzes; started by fuzz.run, which sets the preloads.

python -m fuzz.harness TARGET --mutator none|grammar|live --status FILE -- LIBFUZZER-ARGUMENTS
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-untyped]


class Counted:
    """A target that writes to the status file how many inputs it had and how long they were."""

    def __init__(self, one: Callable[[bytes], None], status: Path) -> None:
        self.one = one
        self.path = status.with_suffix(".inputs")
        self.inputs = self.size = 0

    def __call__(self, data: bytes) -> None:
        self.inputs += 1
        self.size += len(data)
        if not self.inputs & 0x3FFF or not self.inputs & (self.inputs - 1):
            self.path.write_text(json.dumps({"inputs": self.inputs, "bytes": self.size}), encoding="utf-8")
        self.one(data)


def others(modules: tuple[str, ...]) -> list[str]:
    """The modules of the package that are not to be instrumented: atheris includes whole packages only."""
    spec = importlib.util.find_spec("qwenparse")
    assert spec is not None and spec.submodule_search_locations
    root = Path(spec.submodule_search_locations[0])
    names = []
    for path in root.rglob("*.py"):
        parts = ("qwenparse", *path.relative_to(root).with_suffix("").parts)
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return [n for n in names if not any(n == m or n.startswith(m + ".") for m in modules)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("--mutator", choices=("none", "grammar", "live"), default="none")
    parser.add_argument("--status", type=Path, required=True)
    split = sys.argv.index("--")
    args = parser.parse_args(sys.argv[1:split])

    from fuzz import targets

    modules = targets.facts(args.target).bytecode
    if modules:
        with atheris.instrument_imports(include=["qwenparse"], exclude=others(modules)):
            target = targets.load(args.target)
    else:
        target = targets.load(args.target)
    options = {}
    if args.mutator != "none":
        from fuzz.mutators import MUTATORS

        # `atheris.Mutate` is another function once Fuzz() runs.
        options["custom_mutator"] = MUTATORS[args.mutator](lambda data, size: atheris.Mutate(data, size), args.status)
    atheris.Setup([sys.argv[0], *sys.argv[split + 1 :]], Counted(target.one, args.status), **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
