"""Reading completions for the commands: text files, JSON Lines of turns, the recorded turns that ship with the package."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from ..errors import FormatError
from ..formats import Stop


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
            except (ValueError, RecursionError) as error:
                raise FormatError(f"{name}, line {number}: not JSON ({error})") from None
            if not isinstance(row, dict) or not ("text" in row or "pieces" in row):
                raise FormatError(f'{name}, line {number}: a turn has "text" or "pieces"')
            wrong = _wrong(row)
            if wrong:
                raise FormatError(f"{name}, line {number}: {wrong}")
            yield _turn(row, f"{name}:{number}")


def _wrong(row: dict[str, Any]) -> str | None:
    """What is wrong with a row that says something of a turn."""
    for key in ("text", "format", "gen_prefix"):
        if key in row and not isinstance(row[key], str):
            return f'"{key}" is a string'
    if row.get("stop", "none") not in get_args(Stop):
        return f'"stop" is one of {", ".join(get_args(Stop))}'
    if "pieces" not in row:
        return None
    if not isinstance(row["pieces"], list) or not all(isinstance(piece, str) for piece in row["pieces"]):
        return '"pieces" is a list of strings'
    return '"pieces" are not those of "text"' if "".join(row["pieces"]) != row.get("text", "".join(row["pieces"])) else None


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
