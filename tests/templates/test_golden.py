"""Recorded prompts of the published templates (how they were made: tests/data/templates.md)."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from qwenparse.errors import TemplateError
from qwenparse.prompt import render_prompt
from qwenparse.templates.engines import get_engine

DATA = Path(__file__).parent.parent / "data"


def rows(name: str) -> list[dict[str, Any]]:
    raw = (DATA / name).read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    return [json.loads(line) for line in text.split("\n") if line]


def render_row(row: dict[str, Any]) -> Any:
    messages, tools = copy.deepcopy(row["messages"]), copy.deepcopy(row.get("tools"))
    normalize = "transformers5" if row.get("pipeline") == "tf5" else None
    try:
        prompt = render_prompt(messages, row["template"], tools=tools, normalize=normalize, **row["kwargs"])
    except TemplateError as error:
        return (error.kind, str(error) if error.kind == "template" else None)
    finally:
        assert messages == row["messages"] and tools == row.get("tools"), "the input was changed"
    at = 0
    for segment in prompt.segments:
        assert segment.start == at < segment.end
        at = segment.end
    assert at == len(prompt.text)
    return prompt.text


@pytest.mark.parametrize(("name", "count"), [("templates.jsonl.gz", 1650), ("templates_random.jsonl.gz", 900)])
def test_recorded_prompts(name: str, count: int) -> None:
    wrong = []
    found = rows(name)
    assert len(found) == count
    for row in found:
        if "output" in row:
            want = row["output"]
        else:
            text = row["error"].split(": ", 1)[1] if row["error_kind"] == "template" else None
            want = (row["error_kind"], text)
        got = render_row(row)
        if got != want:
            wrong.append((row["id"], row["template"], row["pipeline"], got, want))
    assert not wrong, f"{len(wrong)} of {count}, the first: {wrong[0]}"


@pytest.mark.parametrize("row", rows("continuation.jsonl"), ids=lambda row: f"{row['template']}-{row['id']}")
def test_recorded_continuations(row: dict[str, Any]) -> None:
    prompt = render_prompt(row["messages"], row["template"], **row["kwargs"])
    assert prompt.text == row["prompt"]
    assert row["generation_prompt"] == "<|im_start|>assistant\n" + (prompt.gen_prefix or "")


def profiles() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / "engine_profiles.json").read_text(encoding="utf-8"))
    return data


@pytest.mark.parametrize("row", profiles()["numbers"], ids=lambda row: row["literal"])
def test_number_spellings(row: dict[str, str]) -> None:
    value = json.loads(row["literal"])
    python, go, llama = (get_engine(name) for name in ("python", "go", "llama"))
    assert (python.json(value), python.text(value), python.json([value])) == (
        row["python"], row["python"], f"[{row['python']}]",
    )  # fmt: skip
    assert (go.json(value), go.text(value)) == (row["go_value"], row["go_value"])
    assert (go.json([value]), go.json({"a": [value]})) == (f"[{row['go_json']}]", f'{{"a": [{row["go_json"]}]}}')
    assert (llama.json(value), llama.text(value), llama.json([value])) == (
        row["llama"], row["llama"], f"[{row['llama']}]",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["python", "go", "llama"])
def test_trimmed_characters(name: str) -> None:
    engine = get_engine(name)
    trimmed = {f"U+{c:04X}" for c in range(0x110000) if not engine.trim(chr(c))}
    assert trimmed == set(profiles()["trim"][name])
