"""Readers of the recorded answers of the reference, and one comparison for all of them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[dict[str, Any]]:
    """The JSON objects of a file, header included."""
    raw = (DATA / name).read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    return [json.loads(line) for line in text.split("\n") if line]


def text(value: Any) -> str:
    """A recorded string; what is no UTF-8 as surrogate escapes."""
    return base64.b64decode(value["b64"]).decode("utf-8", "surrogateescape") if isinstance(value, dict) else value


def feedings(chunks: list[str]) -> Iterator[tuple[str, list[str | bytes]]]:
    """The chunks as str, as bytes, and mixed."""
    encoded = [chunk.encode("utf-8", "surrogateescape") for chunk in chunks]
    yield "str", list(chunks)
    yield "bytes", list(encoded)
    yield "mixed", [(chunks, encoded)[i % 2][i] for i in range(len(chunks))]
