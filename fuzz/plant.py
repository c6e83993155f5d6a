"""A planted bug, and how soon each set-up finds it: python -m fuzz.plant [--seeds 3] [--seconds 120] [SET-UP...]

The bug: RuntimeError when a parameter with a name of one character begins in a call whose name begins with `x`, inside
`<tool_call>`. It is written into the copy of the core that `fuzz.build --plant` makes, never into the source. Results
go to fuzz/work/plant.json; docs/fuzzing.md has the table.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from fuzz.build import WORK

EDITS = {
    "state.pxi": [("    cdef bint wrapper ", "    cdef bint planted\n    cdef bint wrapper ")],
    "reports.pxi": [
        (
            "        self.call_open = True\n",
            "        self.call_open = True\n"
            "        self.planted = self.wrapper and kind == K_NAME and len(name) > 0 and name[0] == 120\n",
        ),
        (
            "        self.arg_open = True\n",
            "        if self.planted and key is not None and len(key) == 1:\n"
            '            raise RuntimeError("planted bug")\n'
            "        self.arg_open = True\n",
        ),
    ],
}


def write(machine: Path) -> None:
    """Put the bug into a copy of the folder `machine`. SystemExit if a place is not found once."""
    for name, edits in EDITS.items():
        source = (machine / name).read_text(encoding="utf-8")
        for old, new in edits:
            if source.count(old) != 1:
                raise SystemExit(f"the planted bug has no place: {old.splitlines()[0]!r} stands {source.count(old)} times")
            source = source.replace(old, new)
        (machine / name).write_text(source, encoding="utf-8")


@dataclass(frozen=True)
class SetUp:
    """One way of fuzzing: arguments of `run.campaign`."""

    kind: str
    mutator: str
    dictionary: bool
    seeds_of: str


SETUPS = {
    "dictionary": SetUp("fuzzer", "none", True, "none"),
    "recorded": SetUp("fuzzer", "none", False, "recorded"),
    "live": SetUp("fuzzer", "live", False, "none"),
    "grammar": SetUp("fuzzer", "grammar", False, "none"),
    "nothing": SetUp("fuzzer", "none", False, "none"),
    "blind": SetUp("plain", "none", True, "none"),
    "blind-recorded": SetUp("plain", "none", True, "recorded"),
}


def main() -> None:
    from fuzz.run import campaign

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("setups", nargs="*", default=list(SETUPS), metavar="SET-UP", help=", ".join(SETUPS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=120)
    args = parser.parse_args()
    path = WORK / "plant.json"
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in args.setups:
        setup = SETUPS[name]
        rows = []
        for seed in range(1, args.seeds + 1):
            corpus = WORK / "corpus" / f"plant-{name}"
            shutil.rmtree(corpus, ignore_errors=True)
            result = campaign(
                "lossless",
                kind=setup.kind,
                mutator=setup.mutator,
                seconds=args.seconds,
                seed=seed,
                corpus=corpus,
                seeds_of=setup.seeds_of,
                dictionary=setup.dictionary,
                plant=True,
                max_len=512,
                quiet=True,
            )
            found = result.artifact is not None
            if found and "planted bug" not in result.log:
                raise SystemExit(f"another bug was found: {result.artifact}\n{result.log[-3000:]}")
            rows.append({"seed": seed, "found": found, "executions": result.executions, "seconds": round(result.seconds, 1)})
            print(name, rows[-1], flush=True)
        table[name] = rows
        path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
