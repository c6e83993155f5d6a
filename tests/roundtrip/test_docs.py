"""docs/round_trip.md: its examples run, and it names every cause."""

from __future__ import annotations

import re
from pathlib import Path

from qwenparse.drift import CAUSES
from qwenparse.drift.report import MEANING

TEXT = (Path(__file__).parent.parent.parent / "docs" / "round_trip.md").read_text("utf-8")


def test_examples() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(compile(block, "round_trip.md", "exec"), {})


def test_causes() -> None:
    assert set(MEANING) == set(CAUSES)
    table = TEXT[TEXT.index("| cause | meaning |") : TEXT.index("Measured on 61")]
    assert set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line))) == set(CAUSES)
