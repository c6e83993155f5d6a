"""What the tests of the adapters feed: every case, the field cases, random turns; each with its settings."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cases
import lexemes

from qwenparse import DeltaParser, Policy, Turn, parse
from qwenparse.utf8 import to_bytes

DATA = Path(__file__).parent / "data"
HEADER = "<|im_start|>assistant\n"


class Input(NamedTuple):
    id: str
    text: str
    format: str
    settings: dict[str, Any]
    stop: str
    prefix: str

    def parser(self, **more: Any) -> DeltaParser:
        numbers = iter(range(1 << 20))
        settings = {"id_factory": lambda: f"call_{next(numbers)}", **self.settings, **more}
        if self.prefix:
            return DeltaParser.for_prompt(HEADER + self.prefix, format=self.format, **settings)
        return DeltaParser(self.format, **settings)

    def turn(self, **more: Any) -> Turn:
        parser = self.parser(**more)
        parser.feed(self.text)
        parser.close(stop=self.stop)
        return parser.turn


def _text(row: dict[str, Any]) -> str | None:
    value, kind = row["input"], row["input_type"]
    if kind == "output_text":
        return str(value)
    if kind == "chunks":
        return "".join(value if isinstance(value, list) else value["chunks"])
    if kind == "bytes_hex":
        return bytes.fromhex("".join(value["byte_chunks"])).decode("utf-8", "surrogateescape")
    return None


def _field_cases() -> Iterator[Input]:
    for line in (DATA / "field_cases.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        text = _text(row)
        if text is None:
            continue
        start = "reasoning" if row["prompt_state"].get("think_open") else "auto"
        format = "qwen3" if row["dialect"] == "json" else "qwen3.5"
        yield Input(row["id"], text, format, {"tools": row["tools"] or [], "start": start}, row["stop"], "")


def _random(count: int) -> Iterator[Input]:
    for seed in range(count):
        rng = random.Random(seed)
        settings = lexemes.settings(rng)
        format = settings.pop("format")
        yield Input(f"random {seed}", lexemes.text(rng), format, settings, rng.choice(lexemes.STOPS), "")


# Values of every kind of schema type, several calls, text between them, and characters of every width.
_VALUES = {
    "s": "a \"b\" \\ 世 😀\n\tc", "i": "007", "x": "1.0", "b": "True", "oi": "NULL", "os": "null",
    "a": "['x', {'k': None}]", "o": '{"k": [1, 2.50]}', "u": "[1, 2", "r": "{}",
}  # fmt: skip


def _typed() -> Input:
    values = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in _VALUES.items())
    call = f"<tool_call>\n<function=v>\n{values}</function>\n</tool_call>"
    empty = "<tool_call>\n<function=open>\n</function>\n</tool_call>"
    text = f"Plan é.\n</think>\n\nBefore 世界\n\n{call}\n{empty}\n\nBetween\n{call}\nAfter 😀"
    tools = [cases.TOOLS["v"], cases.TOOLS["open"]]
    return Input("typed", text, "qwen3.5", {"tools": tools, "start": "reasoning"}, "im_end", "")


def _broken() -> Iterator[Input]:
    call = "<tool_call>\n<function=sh>\n<parameter=cmd>\nA\udce4\udcb8B\ud800\n</parameter>\n</function>\n</tool_call>"
    for name, text in (
        ("broken bytes", f"R\udcff\n</think>\n\nC\udce4\udcb8\n\n{call}"),
        ("broken end", "R\n</think>\n\nC\udce4\udcb8"),
        ("broken thought", "R\udce4\udcb8"),
        ("lone surrogates", "R\ud800\udc00\n</think>\n\n\ud83dC"),
    ):
        yield Input(name, text, "qwen3.5", {"tools": None, "start": "reasoning"}, "im_end", "")


@cache
def inputs(random_count: int = 100) -> tuple[Input, ...]:
    found = [Input(c.id, c.input, _format(c), _settings(c), c.kwargs["stop"], c.prefix) for c in cases.load_all()]
    return (*found, *_field_cases(), *_random(random_count), _typed(), *_broken())


def _format(case: cases.Case) -> str:
    return str(case.kwargs["format"])


def _settings(case: cases.Case) -> dict[str, Any]:
    settings = {key: case.kwargs[key] for key in ("start", "tools", "policy")}
    if case.prefix:
        del settings["start"]
    return settings


def cuts(item: Input, *, single: bool = True) -> Iterator[list[Any]]:
    """Whole, one by one, at random; as str and as bytes where the bytes are those of the text."""
    rng = random.Random(item.id)
    data = to_bytes(item.text)
    yield [item.text]
    if single:
        yield list(item.text)
    yield lexemes.pieces(rng, item.text)
    if data.decode("utf-8", "surrogateescape") == item.text:
        if single:
            yield [data[i : i + 1] for i in range(len(data))]
        yield lexemes.pieces(rng, data)


def engine_reason(stop: str) -> str:
    """What an engine says where the turn ended so."""
    return "length" if stop == "none" else "stop"


__all__ = ["DATA", "Input", "Policy", "cuts", "engine_reason", "inputs", "parse"]
