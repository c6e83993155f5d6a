"""Seed inputs: written by the grammar, recorded from models, and the cases of the test suite.

Every text is put behind two headers (settings.py): the defaults, and one chosen by the hash of the text.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import lzma
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz.build import ROOT, WORK
from qwenparse import _grammar as grammar

CORPORA = ROOT / "fuzz" / "corpora"
HEADER = 4
KINDS = ("grammar", "recorded", "cases")
GENERATED = 200
RECORDED = 250


def outputs(path: Path) -> Iterator[dict[str, Any]]:
    """The outputs of a recording (record_live.py), the facts of their prompt merged in."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        facts: dict[str, Any] = {}
        for line in map(json.loads, lines):
            if "text" in line:
                yield facts | line
            else:
                facts = facts | line


def recorded() -> Iterator[bytes]:
    """Every recorded output with its prefill, as the bytes that were sampled."""
    for path in sorted(CORPORA.glob("*.jsonl.xz")):
        for line in outputs(path):
            yield (line.get("prefill", "") + line["text"]).encode("utf-8", "surrogateescape")


def generated(count: int = GENERATED) -> Iterator[bytes]:
    """Completions of the grammar, a third of them without faults."""
    for i in range(count):
        text = grammar.Grammar(random.Random(i), (0.0, 0.05, 0.15)[i % 3]).completion()
        yield text.encode("utf-8", "surrogatepass")


def chosen() -> Iterator[bytes]:
    """Up to `RECORDED` of the recorded outputs, those with tags first, spread over the recordings."""
    texts = list(dict.fromkeys(recorded()))
    tagged = [t for t in texts if b"<tool_call>" in t or b"<function=" in t]
    others = [t for t in texts if t not in set(tagged)]
    for group, most in ((tagged, RECORDED * 4 // 5), (others, RECORDED // 5)):
        yield from group[:: max(1, -(-len(group) // most))]


def cases() -> Iterator[bytes]:
    """The inputs of tests/cases, and those of the regression cases without their headers."""
    from cases import load_all

    for text in dict.fromkeys(case.input for case in load_all()):
        yield text.encode("utf-8", "surrogatepass")
    for path in sorted((ROOT / "tests" / "data" / "regressions").glob("*.bin")):
        yield path.read_bytes()[HEADER:]


def folders(which: str = "all") -> list[Path]:
    """Folders of seed files, written if missing: `which` is one of `KINDS`, or `all`."""
    sources = {"grammar": generated, "recorded": chosen, "cases": cases}
    result = []
    for kind in KINDS if which == "all" else (which,):
        folder = WORK / "seeds" / kind
        if not (folder / ".complete").exists():
            write(folder, sources[kind]())
            (folder / ".complete").touch()
        result.append(folder)
    return result


def write(folder: Path, texts: Iterator[bytes] | list[bytes]) -> int:
    """One file for each text and header; the number of files."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for text in texts:
        digest = hashlib.sha1(text).digest()
        for header in (bytes(HEADER), bytes(b & m for b, m in zip(digest, (7, 3, 255, 255), strict=False))):
            data = header + text
            (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
            count += 1
    return count


def dictionary() -> str:
    """The lexemes of the grammar as a libFuzzer dictionary."""
    lines = ["# Made by `python -m fuzz.seeds --dict`."]
    for lexeme in dict.fromkeys(grammar.LEXEMES):
        shown = "".join(
            f"\\x{b:02x}" if b < 0x20 or b > 0x7E or chr(b) in '"\\' else chr(b) for b in lexeme.encode("utf-8", "surrogatepass")
        )
        lines.append(f'"{shown}"')
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dict", action="store_true", help="write fuzz/qwen.dict")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N completions of the grammar")
    parser.add_argument("--folders", action="store_true", help="write the seed folders under fuzz/work/seeds")
    args = parser.parse_args()
    if args.folders:
        print(*folders(), sep="\n")
    if args.dict:
        (ROOT / "fuzz" / "qwen.dict").write_text(dictionary(), encoding="utf-8")
    for text in itertools.islice(generated(args.show), args.show):
        print(repr(text.decode("utf-8", "surrogatepass")))


if __name__ == "__main__":
    main()
