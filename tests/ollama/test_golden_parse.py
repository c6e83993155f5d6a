"""Every recorded case of the reference's parsers: what each `add` returns or raises."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from ollama_golden import feedings, rows, text

from qwenparse.ollama import ParseError, Parser

HEADER, *CASES = rows("ollama_parse.jsonl.gz")
BY_KIND: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
for _case in CASES:
    BY_KIND[_case["parser"], _case["cat"]].append(_case)


def wrong(case: dict[str, Any]) -> list[str]:
    """What differs, for each way of feeding."""
    chunks = [text(c) for c in case["chunks"]]
    expected = [
        (
            text(e.get("content", "")),
            text(e.get("thinking", "")),
            [(text(c["name"]), c["arguments_json"], c["index"], c.get("arguments_error")) for c in e.get("calls", ())],
            text(e["error"]) if "error" in e else None,
        )
        for e in case["expect"]
    ]
    found = []
    for way, pieces in feedings(chunks):
        parser = Parser(
            case["parser"], tools=HEADER["toolsets"][case["tools"]] if "tools" in case else None,
            think=case.get("think"), last_message=case.get("last_message"), arch=case.get("arch", "amd64"),
        )  # fmt: skip
        last = len(pieces) - 1
        for i, piece in enumerate(pieces):
            try:
                r = parser.add(piece, done=i == last)
            except ParseError as e:
                got: Any = ("", "", [], str(e))
            else:
                got = (r.content, r.thinking, [], None)
                if r.calls:
                    got = (r.content, r.thinking, [
                        (c.name, c.arguments_json, c.index, c.arguments_error) for c in r.calls], None)
                    found += [f"{case['id']} {way}: arguments" for c in r.calls if bad_arguments(c)]
            if got != expected[i]:
                where = f"{case['id']} {way} chunk {i} {piece!r:.200}"
                found.append(f"{where}: {got!r:.500} instead of {expected[i]!r:.500}")
                break
    return found


def bad_arguments(call: Any) -> bool:
    if not call.arguments_json or call.arguments_json.count("[") > 900:
        return False
    wanted = json.loads(call.arguments_json) or {}
    return list(wanted) != list(call.arguments) or repr(wanted) != repr(call.arguments)


@pytest.mark.parametrize(("parser", "kind"), sorted(BY_KIND))
def test_every_add_answers_as_recorded(parser: str, kind: str) -> None:
    found = [line for case in BY_KIND[parser, kind] for line in wrong(case)]
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:8])


def test_all_rows_are_there() -> None:
    assert len(CASES) == 16171
