"""Every recorded case of the reference's renderers."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from ollama_golden import rows

from qwenparse.ollama import RenderError, render

CASES = rows("ollama_render.jsonl.gz")[1:]
BY_RENDERER: dict[str, list[dict[str, Any]]] = {}
for _case in CASES:
    BY_RENDERER.setdefault(_case["renderer"], []).append(_case)

EXTRA_KEY = re.compile(r"<(anyOf|items|enum|properties|required|\$defs)>.*</\1>")


def sorted_runs(text: str) -> str:
    """Each run of adjacent lines that hold one extra schema key, sorted: the reference orders them at random."""
    lines: list[str] = []
    run: list[str] = []
    for line in text.split("\n"):
        if EXTRA_KEY.fullmatch(line):
            run.append(line)
            continue
        lines += [*sorted(run), line]
        run = []
    return "\n".join([*lines, *sorted(run)])


def test_sorted_runs_moves_extra_keys_only() -> None:
    text = "b\n<items>2</items>\n<enum>1</enum>\na\n<items>0</items>"
    assert sorted_runs(text) == "b\n<enum>1</enum>\n<items>2</items>\na\n<items>0</items>"


@pytest.mark.parametrize("renderer", sorted(BY_RENDERER))
def test_every_prompt_is_the_recorded_one(renderer: str) -> None:
    found = []
    for case in BY_RENDERER[renderer]:
        messages, tools = copy.deepcopy(case["messages"]), copy.deepcopy(case["tools"])
        expected = case.get("text", case.get("error"))
        try:
            got = render(renderer, messages, tools, case.get("think"), img_tags=case.get("img_tags", False))
            kind = "text"
        except RenderError as error:
            got, kind = str(error), "error"
        if case.get("unordered"):
            got, expected = sorted_runs(got), sorted_runs(expected or "")
        if got != expected or kind not in case:
            found.append(f"{case['id']}: {got!r} instead of {expected!r}")
        if repr((messages, tools)) != repr((case["messages"], case["tools"])):
            found.append(f"{case['id']}: the input was changed")
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:4])


def test_all_rows_are_there() -> None:
    assert len(CASES) == 1531
