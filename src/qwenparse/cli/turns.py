"""Reading completions for the commands: text files, JSON Lines of turns, the recorded turns that ship with the package."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import FormatError


@dataclass(frozen=True)
class Recorded:
    """A completion to read. `pieces` are the pieces it came in (tokens), if they were recorded."""

    name: str
    text: str
    pieces: list[str] | None = None
    format: str | None = None
    gen_prefix: str = ""
    stop: str | None = None
    tools: list[dict[str, Any]] | None = None


def shipped() -> list[Recorded]:
    """Turns of a real small model, in the tokens it sampled."""
    lines = shipped_text().splitlines()
    return [_turn(json.loads(line), f"recorded {number}") for number, line in enumerate(lines, 1)]


def shipped_text() -> str:
    """The same as JSON Lines."""
    return (files("qwenparse") / "data" / "recorded.jsonl").read_text("utf-8")


def read(names: Sequence[str]) -> Iterator[Recorded]:
    """The completions of files (`-`: standard input). Raises `OSError`, and `FormatError` for a bad line."""
    for name in names:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = raw.decode("utf-8", "surrogateescape")
        if not name.endswith(".jsonl"):
            yield Recorded(name, text)
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise FormatError(f"{name}, line {number}: not JSON ({error})") from None
            if not isinstance(row, dict) or not ("text" in row or "pieces" in row):
                raise FormatError(f'{name}, line {number}: a turn has "text" or "pieces"')
            yield _turn(row, f"{name}:{number}")


def _turn(row: dict[str, Any], name: str) -> Recorded:
    pieces = row.get("pieces")
    return Recorded(
        name,
        row["text"] if "text" in row else "".join(pieces or ()),
        pieces,
        row.get("format"),
        row.get("gen_prefix", ""),
        row.get("stop"),
        row.get("tools"),
    )
