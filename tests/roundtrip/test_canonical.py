"""`canonical` says what rendering shows. `python tests/roundtrip/test_canonical.py 6000` runs more turns per template."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from roundtrip.support import NATIVE, TOOLS, drift_rows, follow_up, random_case, row_format, row_turn

from qwenparse import FormatError, TemplateError, render_prompt
from qwenparse.drift import canonical


def compared(format: str, count: int, seed: str) -> tuple[int, int]:
    """How many of `count` random turns are canonical, and how many are not; fails where rendering says otherwise."""
    yes = no = 0
    for number in range(count):
        rng = random.Random(f"{seed}/{format}/{number}")
        messages, kwargs, prompt, turn = random_case(rng, format)
        history = [*messages, turn.message(), *follow_up(rng, turn)]
        try:
            text = render_prompt(history, format, tools=TOOLS, normalize="openai", **kwargs).text
            expected = text.startswith(prompt.text + turn.raw)
        except TemplateError:
            expected = False
        assert canonical(turn, format, **kwargs) == expected, (number, format, kwargs, turn.gen_prefix, turn.raw)
        yes, no = yes + expected, no + (not expected)
    return yes, no


@pytest.mark.parametrize("format", NATIVE)
def test_agrees_with_the_render(format: str) -> None:
    yes, no = compared(format, 400, "canonical")
    assert yes > 30 and no > 30  # the comparison says something


def test_rows_without_drift_are_canonical() -> None:
    for row in drift_rows():
        if row["template_verified"] and row["echoed_message"].get("tool_calls"):
            if row["cause"] == "none" and row["name"] not in ("raw_in_content_36", "value_two_newlines", "json_raw_string"):
                assert canonical(row_turn(row), row_format(row), **row["kwargs_next"]), row["name"]


def test_names() -> None:
    turn = row_turn(drift_rows()[0])
    with pytest.raises(FormatError):
        canonical(turn, "qwen9")
    with pytest.raises(ValueError):
        canonical(turn, "qwq")


if __name__ == "__main__":
    for each in NATIVE:
        print(each, *compared(each, int(sys.argv[1]), "soak"))
