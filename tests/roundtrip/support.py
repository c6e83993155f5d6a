"""Turns for the tests of the round trip: golden rows, random turns near and far from the canonical layout."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import lexemes

from qwenparse import Parser, Prompt, Turn, render_prompt
from qwenparse.formats import IM_END

DATA = Path(__file__).parent.parent / "data"
NATIVE = (
    "qwen3", "qwen3-2504", "qwen3-instruct-2507", "qwen3-vl", "qwen3-coder", "qwen3-coder-llamacpp", "qwen3.5",
    "qwen3.5-small", "qwen3.6", "qwen3.6-unsloth", "qwen3.8",
)  # fmt: skip
XML = tuple(name for name in NATIVE if name.startswith(("qwen3.", "qwen3-coder")))
THINKING = tuple(name for name in NATIVE if name.startswith("qwen3.") or name in ("qwen3", "qwen3-2504"))

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
    for name, properties in (
        ("sh", {"cmd": {"type": "string"}, "n": {"type": "integer"}, "x": {"type": "number"}, "on": {"type": "boolean"},
                "none": {"type": ["null", "integer"]}, "o": {"type": "object"}, "any": {}}),
        ("read", {"path": {"type": "string"}}),
        ("now", {}),
    )
]  # fmt: skip


def drift_rows() -> list[dict[str, Any]]:
    with gzip.open(DATA / "drift_cases.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def row_format(row: dict[str, Any]) -> str:
    """Two rows come from a community template of the 3.8 family."""
    return "qwen3.8" if row["template"].startswith("froggeric") else str(row["template"])


def read(prompt: str, raw: str, format: str, *, stop: Any = "im_end", **settings: Any) -> Turn:
    """The turn that `raw` (without a stop text) is behind `prompt`."""
    parser = Parser.for_prompt(prompt, format=format, **settings)
    parser.feed(raw)
    parser.close(stop=stop)
    return parser.turn


def row_turn(row: dict[str, Any]) -> Turn:
    raw = row["raw"].removesuffix(IM_END) if row["closed"] else row["raw"]
    stop = "im_end" if row["closed"] else "none"
    return read(row["prompt"], raw, row_format(row), stop=stop, tools=row["tools"])


WORDS = (
    "ok",
    "a b",
    "é",
    "世界",
    "😀",
    "1.0",
    "line\nline",
    " x",
    "x ",
    "<b>",
    "&amp;",
    '"q"',
    "\\",
    "",
    "\t",
    "a\r\nb",
    "</think>",
)
NUMBERS = ("1", "1.0", "-0.0", "5e1", "1e22", "0.1", "12345678901234567890", "007", "+5", ".5", "1e400")
OBJECTS = ('{"a": 1}', '{"b": [1, 2.0], "a": "é"}', '{"a":1}', "{'a': None}", '{"a": "\\u00e9"}', "{}", '{"a": "x<y"}')


def _value(rng: random.Random, key: str) -> str:
    if key == "n":
        return rng.choice(NUMBERS)
    if key == "x":
        return rng.choice(NUMBERS)
    if key == "on":
        return rng.choice(("true", "false", "True", "FALSE"))
    if key == "none":
        return rng.choice(("null", "None", "NULL", "3"))
    if key == "o":
        return rng.choice(OBJECTS)
    return rng.choice(WORDS)


def _call(rng: random.Random, xml: bool) -> str:
    name = rng.choice(("sh", "sh", "read", "now", "zz"))
    keys = rng.sample(["cmd", "n", "x", "on", "none", "o", "any"], rng.randint(0, 4)) if name == "sh" else ["path"]
    if name == "now":
        keys = []
    if xml:
        if rng.random() < 0.1 and keys:
            keys.append(keys[0])
        lines = [f"<parameter={key}>\n{_value(rng, key)}\n</parameter>" for key in keys]
        return "\n".join(["<tool_call>", f"<function={name}>", *lines, "</function>", "</tool_call>"])
    members = {key: rng.choice(["a", 1, 1.0, True, None, {"a": [1, "é"]}, "</think>"]) for key in keys}
    written = json.dumps(members, ensure_ascii=rng.random() < 0.2)
    return f'<tool_call>\n{{"name": "{name}", "arguments": {written}}}\n</tool_call>'


def _text(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, 4))).strip() if rng.random() < 0.8 else ""


def _mutated(rng: random.Random, text: str) -> str:
    at = rng.randint(0, len(text))
    kind = rng.randrange(5)
    if kind == 0:
        return text[:at] + rng.choice(("\n", " ", "\n\n", "x")) + text[at:]
    if kind == 1:
        newline = text.find("\n", at)
        return text if newline < 0 else text[:newline] + text[newline + 1 :]
    if kind == 2:
        return text[:at] + text[at + 1 :]
    if kind == 3:
        return text[:at]
    return text[:at] + rng.choice(lexemes.LONG) + text[at:]


def random_raw(rng: random.Random, format: str, prefix: str) -> str:
    """What a model of that family might write behind the generation prompt `prefix`, often canonical."""
    if rng.random() < 0.05:
        return lexemes.text(rng)
    xml = format in XML
    raw = ""
    if format in THINKING and rng.random() < (0.1 if "</think>" in prefix else 0.85):
        raw = f"{'' if prefix.startswith('<think>') else '<think>' + chr(10)}{_text(rng)}\n</think>\n\n"
    content = _text(rng)
    calls = [_call(rng, xml) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    raw += content
    if calls and content:
        raw += "\n\n" if xml else "\n"
    raw += "\n".join(calls)
    while rng.random() < 0.4:
        raw = _mutated(rng, raw)
    return raw


def random_case(rng: random.Random, format: str) -> tuple[list[dict[str, Any]], dict[str, Any], Prompt, Turn]:
    """A history, template arguments, its prompt, and a turn generated from that."""
    kwargs: dict[str, Any] = {}
    if rng.random() < 0.25:
        kwargs["enable_thinking"] = rng.choice((True, False))
    if rng.random() < 0.25:
        kwargs["preserve_thinking"] = rng.choice((True, False))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]
    if rng.random() < 0.3:
        messages.insert(0, {"role": "system", "content": "Be brief."})
    prompt = render_prompt(messages, format, tools=TOOLS, **kwargs)
    raw = random_raw(rng, format, prompt.gen_prefix or "")
    stop = rng.choice(("im_end",) * 6 + ("none", "other_stop"))
    return messages, kwargs, prompt, read(prompt.text, raw, format, stop=stop, tools=TOOLS)


def follow_up(rng: random.Random, turn: Turn) -> list[dict[str, Any]]:
    """The messages behind a turn: results of its calls, or the next question."""
    if turn.tool_calls:
        return [{"role": "tool", "tool_call_id": call.id, "content": f"r{call.index}"} for call in turn.tool_calls]
    return [{"role": "user", "content": "And?"}]
