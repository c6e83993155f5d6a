"""The process that fuzzes; started by fuzz.run, which sets the preloads.

python -m fuzz.harness TARGET --mutator none|grammar|live --status FILE -- LIBFUZZER-ARGUMENTS
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import atheris  # type: ignore[import-untyped]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("--mutator", choices=("none", "grammar", "live"), default="none")
    parser.add_argument("--status", type=Path, required=True)
    parser.add_argument("--bytecode", action="store_true", help="instrument the Python modules of the package")
    split = sys.argv.index("--")
    args = parser.parse_args(sys.argv[1:split])

    from fuzz import targets

    if args.bytecode:
        with atheris.instrument_imports(include=["qwenparse"]):
            target = targets.load(args.target)
    else:
        target = targets.load(args.target)
    options = {}
    if args.mutator != "none":
        from fuzz.mutators import MUTATORS

        # `atheris.Mutate` is another function once Fuzz() runs.
        options["custom_mutator"] = MUTATORS[args.mutator](lambda data, size: atheris.Mutate(data, size), args.status)
    atheris.Setup([sys.argv[0], *sys.argv[split + 1 :]], target.one, **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
