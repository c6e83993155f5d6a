"""The shipped template files against the Python renderer, under Jinja2 and MiniJinja."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import minijinja
import pytest

from qwenparse.errors import FormatError, TemplateError
from qwenparse.prompt import render_prompt
from qwenparse.templates import SHIPPED, shipped_template
from qwenparse.templates.recover import recover

DATA = Path(__file__).parent.parent / "data"
DOCS = Path(__file__).parents[2] / "docs" / "templates.md"
SOURCES = {name: shipped_template(name).read_text(encoding="utf-8") for name in SHIPPED}
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "robust_policy.jsonl").read_text(encoding="utf-8").split("\n") if line
]
STRINGS_IN_XML = "Jinja cannot parse JSON: in XML format arguments must be a mapping"
UNVALIDATED = "Jinja cannot parse JSON: in JSON format the string is inserted unvalidated"
NO_RECOVERY = "reasoning is read from its fields only, not out of the content"
INEXPRESSIBLE = {
    **dict.fromkeys(("args_str_object", "args_str_compact"), STRINGS_IN_XML),
    **dict.fromkeys(("args_str_null", "args_str_list", "args_str_string", "args_str_broken"), STRINGS_IN_XML),
    **dict.fromkeys(
        ("args_str_null_json", "args_str_list_json", "args_str_string_json", "args_str_broken_json"), UNVALIDATED
    ),
    **dict.fromkeys(
        (
            "recover_tight", "recover_noopen", "recover_noopen_nonl_before", "recover_two_close_open",
            "recover_literal_in_answer_with_open", "recover_close_first", "recover_crlf", "recover_opener_midway",
            "recover_empty_field", "recover_blank_field",
        ),
        NO_RECOVERY,
    ),
}  # fmt: skip
"""The recorded rows that a template file cannot give, with the reason."""

Render = Callable[[str, dict[str, Any]], str]


def answer(render: Callable[[], str]) -> str:
    try:
        return render()
    except TemplateError as error:
        return f"error: {error}" if error.kind == "template" else "engine failure"


def python(row: dict[str, Any]) -> str:
    return answer(lambda: render_prompt(row["messages"], "qwen3.8", tools=row["tools"], robust=True, **row["kwargs"]).text)


def jinja2_render(name: str, row: dict[str, Any]) -> str:
    source = SOURCES[name]
    return answer(lambda: render_prompt(row["messages"], "qwen3.8", tools=row["tools"], template=source, **row["kwargs"]).text)


class Refused(Exception):
    pass


def refuse(message: str) -> None:
    raise Refused(message)


ENVIRONMENT = minijinja.Environment(templates=SOURCES, trim_blocks=True, lstrip_blocks=True)
ENVIRONMENT.add_global("raise_exception", refuse)


def minijinja_render(name: str, row: dict[str, Any]) -> str:
    arguments = {"add_generation_prompt": True, **row["kwargs"]}
    try:
        return ENVIRONMENT.render_template(name, messages=row["messages"], tools=row["tools"], **arguments)
    except Refused as error:
        return f"error: {error}"
    except minijinja.TemplateError:
        return "engine failure"


ENGINES = pytest.mark.parametrize("render", [jinja2_render, minijinja_render], ids=["jinja2", "minijinja"])


@ENGINES
@pytest.mark.parametrize("name", SHIPPED)
def test_recorded_prompts(name: str, render: Render) -> None:
    different = set()
    for row in ROWS:
        want = row["output"] if "output" in row else f"error: {row['error']}"
        if render(name, row) != want:
            different.add(row["id"])
    assert different == set(INEXPRESSIBLE)


def test_what_files_cannot_do_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for reason in set(INEXPRESSIBLE.values()):
        ids = sorted(id for id, why in INEXPRESSIBLE.items() if why == reason)
        assert f"- {reason}: {', '.join(f'`{id}`' for id in ids)}" in text


def histories() -> Iterator[dict[str, Any]]:
    """The recorded histories of other templates, each with arguments of its own and with random ones."""
    seen = set()
    rng = random.Random(1)
    for file in ("templates.jsonl.gz", "templates_random.jsonl.gz"):
        for line in gzip.decompress((DATA / file).read_bytes()).decode().split("\n"):
            row = json.loads(line) if line else {"id": None}
            if row["id"] in seen or row["id"] is None:
                continue
            seen.add(row["id"])
            yield {**row, "kwargs": {k: v for k, v in row["kwargs"].items() if k != "documents"}}
            chosen = {
                "tool_call_format": rng.choice(["xml", "json"]),
                "tool_instructions": rng.choice(["template", "scoped"]),
                "no_user": rng.choice(["error", "continuation"]),
                "allow_user_think_control": rng.random() < 0.5,
                "preserve_thinking": rng.choice([True, False, None]),
                "enable_thinking": rng.choice([True, False, None]),
            }
            yield {**row, "kwargs": chosen}


def inexpressible(messages: Any) -> bool:
    """String arguments, or a think block in a content."""
    for message in messages:
        for call in message.get("tool_calls") or [] if isinstance(message.get("tool_calls"), list) else []:
            function = call.get("function", call) if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(function.get("arguments"), str):
                return True
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(p if isinstance(p, str) else str(p.get("text") or "") for p in content if p)
        if message.get("role") == "assistant" and isinstance(content, str) and recover(content.strip()):
            return True
    return False


# MiniJinja's `trim` leaves U+001C to U+001F.
MINIJINJA_DIFFERS = re.compile(r"\\u001[c-f]")


def test_other_histories() -> None:
    compared = [0, 0]
    for row in histories():
        if inexpressible(row["messages"]):
            continue
        want = python(row)
        assert jinja2_render("robust.jinja", row) == want, row["id"]
        compared[0] += 1
        if not MINIJINJA_DIFFERS.search(json.dumps([row["messages"], row["tools"]])):
            assert minijinja_render("robust.jinja", row) == want, row["id"]
            compared[1] += 1
    assert compared[0] > 400 and compared[1] > 250, compared


@ENGINES
def test_results_and_calls(render: Render) -> None:
    rng = random.Random(2)
    outcomes = {"same": 0, "error": 0, "order": 0}
    for _ in range(400):
        calls = [rng.choice(["a", "b", "c", None]) for _ in range(rng.randint(0, 4))]
        made = [{**({"id": id} if id else {}), "function": {"name": "f", "arguments": {}}} for id in calls]
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": "q"}, {"role": "assistant", "content": "", "tool_calls": made},
        ]  # fmt: skip
        for number in range(rng.randint(0, 4)):
            id = rng.choice(["a", "b", "c", None, None])
            messages.append({"role": "tool", "content": str(number), **({"tool_call_id": id} if id else {})})
        row = {"messages": messages, "tools": None, "kwargs": {}}
        want, got = python(row), render("robust.jinja", row)
        if got == want:
            outcomes["error" if want.startswith("error") else "same"] += 1
        else:
            notes = render_prompt(messages, "qwen3.8", robust=True).notes
            assert any(note.code == "tool-result-moved" for note in notes)
            assert got == "error: Tool results are not in the order of their calls."
            outcomes["order"] += 1
    assert min(outcomes.values()) > 10, outcomes


MARKER_PIECES = ("<|think_on|>", "<|think_off|>", "<|think_", "on|>", "off|>", "|>", "<|", "a", " ", "\n")


@ENGINES
def test_markers(render: Render) -> None:
    rng = random.Random(3)
    for _ in range(400):
        system, user = ("".join(rng.choices(MARKER_PIECES, k=rng.randint(0, 9))) for _ in range(2))
        row = {
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "tools": None,
            "kwargs": {
                "allow_user_think_control": rng.random() < 0.5,
                "think_markers": rng.choice(["control", "text"]),
            },
        }
        assert render("robust.jinja", row) == python(row), row


BACKSLASHES = ("\\", "\\\\", "u003c", "\\u003c", "<", "'", "&", "\x01", '"', "é", "e-7")


@ENGINES
def test_json_as_python_writes_it(render: Render) -> None:
    rng = random.Random(4)
    for _ in range(400):
        text = "".join(rng.choices(BACKSLASHES, k=rng.randint(0, 8)))
        number = rng.choice([1e-07, 0.5, 1e22, -1.5e-9, 1e-05, -2.5e-05, 0.0001, 1e-10, 5e-324, 1.0, -0.0, 2**63, 10**15])
        value = rng.choice([text, number, [text, number], {text: number, "n": [{"e-": [number]}]}, {"z": None, "b": True}])
        call = {"function": {"name": text, "arguments": {"a": value}}}
        messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
        for form in ("xml", "json"):
            row = {"messages": messages, "tools": [{"name": text}], "kwargs": {"tool_call_format": form}}
            assert render("robust.jinja", row) == python(row), (form, value)


@ENGINES
@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({}, "<think>\nRAW<|im_end|>\n"),
        ({"gen_prefix": ""}, "RAW<|im_end|>\n"),
        ({"gen_prefix": "<think>\n\n</think>\n\n", "raw": "RAW<|im_end|>"}, "<think>\n\n</think>\n\nRAW<|im_end|>\n"),
        ({"closed": "none"}, "<think>\nRAW<|im_end|>\n"),
        ({"closed": "other_stop", "raw": "RAW<|endoftext|>"}, "<think>\nRAW<|endoftext|>\n"),
        ({"closed": "im_end", "raw": "RAW<|im_end|>"}, "<think>\nRAW<|im_end|>\n"),
    ],
)
def test_raw_turns_are_written_as_they_are(render: Render, fields: dict[str, str], want: str) -> None:
    turn = {"role": "assistant", "content": "normalised", "raw": "RAW", **fields}
    row = {
        "messages": [{"role": "user", "content": "q"}, turn],
        "tools": None,
        "kwargs": {"add_generation_prompt": False},
    }
    assert render("splice.jinja", row).endswith(f"q<|im_end|>\n<|im_start|>assistant\n{want}")
    assert render("splice.jinja", {**row, "messages": [row["messages"][0], {**turn, "raw": None}]}) == render("robust.jinja", row)


@ENGINES
def test_a_raw_turn_without_its_prefix_gets_that_of_the_prompt(render: Render) -> None:
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "raw": "RAW"}]
    row = {"messages": messages, "tools": None, "kwargs": {"enable_thinking": False, "add_generation_prompt": False}}
    assert render("splice.jinja", row).endswith("assistant\n<think>\n\n</think>\n\nRAW<|im_end|>\n")


def test_splice_is_robust_with_one_branch_more() -> None:
    robust, splice = (SOURCES[name].split("\n") for name in ("robust.jinja", "splice.jinja"))
    added = list(splice)
    for line in robust:
        added.remove(line)
    assert len(added) == 13 and sum("raw" in line for line in added) >= 5


def test_other_names_are_errors() -> None:
    with pytest.raises(FormatError, match=r"robust\.jinja, splice\.jinja"):
        shipped_template("qwen3.8.jinja")
