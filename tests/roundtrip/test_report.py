"""The drift command: logs, corpora, prompts; table, JSON and page."""

from __future__ import annotations

import gzip
import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from real_tokenizers import tokenizer, tokenizer_file
from roundtrip.support import DATA, TOOLS, drift_rows, follow_up, random_case, row_format

from qwenparse import FormatError, render_prompt
from qwenparse.cli import main
from qwenparse.drift import explain
from qwenparse.drift.corpus import Case, Summary
from qwenparse.drift.html import page
from qwenparse.drift.logs import Request, pairs, read_log
from qwenparse.drift.replay import Recording, replay
from qwenparse.tokens import Encoder

ROWS = drift_rows()


def corpus(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def as_recorded(row: dict[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in row.items() if k not in ("closed", "template", "cause")}
    return {**kept, "format": row_format(row), "stop": "im_end" if row["closed"] else "none"}


# corpora ------------------------------------------------------------------------------------------------------------


def test_corpus_of_the_recorded_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = corpus(tmp_path / "rows.jsonl", list(map(as_recorded, ROWS)))
    token_file = str(tokenizer_file("qwen3.5"))
    assert main(["drift", file, "--json", "--tokenizer", token_file]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["name"], each["cause"], each["lost_tokens"]) for each in found] == [
        (row["name"], row["cause"], row["tokens_lost"]) for row in ROWS
    ]
    assert main(["drift", file, "--tokenizer", token_file, "--html", str(tmp_path / "page.html"), "--all"]) == 1
    out = capsys.readouterr().out
    assert "9 of 61 turns came back unchanged." in out and "number_50_0: drift cause=number_spelling" in out
    assert re.search(r"number_spelling +3 +0 +176 +32%", out)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text.count("<details>") == 61 and "call_leading_ws" in text


def test_rendered_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without recorded prompts both are rendered: the causes are those that the template has."""
    rows = [
        {k: row[k] for k in ("name", "messages", "tools", "raw", "new_messages", "kwargs", "kwargs_next")}
        | {"format": row["template"]}
        for row in ROWS
        if not row["template"].startswith("froggeric")
    ]
    cases = {case.name: case for case in (replay(Recording.of(row, name="x")) for row in rows)}
    for row in ROWS:
        if row["name"] in (
            "think_leading_space",
            "number_5e1",
            "argument_order",
            "call_in_think",
            "history_think_36",
            "control",
            "effort_changed",
            "duplicate_parameter",
            "text_after_call",
        ):
            expected = "none" if row["name"] == "argument_order" else row["cause"]
            assert cases[row["name"]].drift.cause == expected, row["name"]
    file = corpus(tmp_path / "r.jsonl", rows)
    assert main(["drift", file, "--template", "robust", "--option", "preserve_thinking=true", "--json"]) == 1
    found = {r["name"]: r["cause"] for r in map(json.loads, capsys.readouterr().out.splitlines())}
    assert found["control"] == "none" and found["number_5e1"] == "none" and found["bool_True"] == "bool_spelling"
    template = tmp_path / "t.jinja"
    template.write_text(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    bare = [row for row in rows if row["name"] == "coder_control"]
    assert main(["drift", corpus(tmp_path / "b.jsonl", bare), "--template", str(template)]) == 1
    assert "history_edited" in capsys.readouterr().out
    assert (
        main(["drift", corpus(tmp_path / "c.jsonl", [{**rows[0], "kwargs_next": None}]), "--next-option", "reasoning_effort=low"])
        == 1
    )
    assert "head_changed" in capsys.readouterr().out


def test_ollama_mode_finds_what_was_recorded() -> None:
    """The first differing bytes of the replayed rows are those recorded from Ollama itself."""
    with gzip.open(DATA / "ollama_replay.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
        recorded = [json.loads(line) for line in file]
    compared = named = 0
    for row in recorded:
        if row["think"] is not None or row["cut"] != "whole" or row["error"]:
            continue
        if row["renderer"] not in ("qwen3.5", "qwen3-coder") or row["parser"] != row["renderer"]:
            continue
        given = Recording(
            row["generated"],
            row["parser"] if row["parser"] != "qwen3-coder" else "qwen3-coder",
            messages=row["messages"],
            tools=row["tools"],
            new_messages=row["new_messages"],
            stop="none",
        )
        case = replay(given, mode=f"ollama:{row['parser']}")
        if case.before != row["prompt"] + row["generated"]:
            continue
        compared += 1
        drift = case.drift
        if row["byte_prefix"]:
            assert drift.cause == "none"
        else:
            assert drift.first_diff_byte_in_turn == row["first_diff_byte_in_turn"]
            named += drift.cause != "unknown"
    assert compared > 30 and named > 20


def test_shipped_turns(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["drift"])
    out = capsys.readouterr().out
    match = re.match(r"(\d+) of (\d+) turns came back unchanged", out)
    assert match is not None and int(match[2]) >= 20
    assert code == (1 if match[1] != match[2] else 0)


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = tmp_path / "one.txt"
    one.write_text("x")
    for line in ('{"raw": 5, "format": "qwen3"}', '{"raw": "x"}', "[1]", "{", '{"raw": "x", "format": "qwen3", "stop": "maybe"}'):
        file = tmp_path / "bad.jsonl"
        file.write_text(line + "\n")
        assert main(["drift", str(file)]) == 2
    (tmp_path / "bad.jsonl").write_text("{\n")
    for args in (
        ["drift", str(one)],
        ["drift", str(one), str(tmp_path / "none.txt")],
        ["drift", "--log", str(tmp_path / "bad.jsonl")],
        ["drift", "--mode", "other"],
        ["drift", "--cut", "tokens"],
        ["drift", "--option", "x"],
    ):
        assert main(args) == 2, args
    assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(FormatError):
        Recording.of({"text": "x", "format": "qwen9"}, name="n")


# two prompts --------------------------------------------------------------------------------------------------------


def test_two_prompts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(row for row in ROWS if row["name"] == "number_50_0")
    before, after, out = tmp_path / "before.txt", tmp_path / "after.txt", tmp_path / "page.html"
    before.write_bytes((row["prompt"] + row["raw"]).encode())
    after.write_bytes(row["next_prompt"].encode())
    files = [str(before), str(after)]
    assert main(["drift", *files, "--format", "qwen3.8", "--turn", str(len(row["prompt"])), "--html", str(out)]) == 1
    text = capsys.readouterr().out
    assert "number_spelling" in text and "2573 of the prompt, 555 of the turn" in text and "'50.0', now '50'" in text
    html = out.read_text("utf-8")
    assert "<span class=gone>.0</span>" in html and "first differing byte, +555 in the turn" in html
    encode = Encoder(tokenizer("qwen3.5")).encode
    before.write_text(json.dumps(encode(row["prompt"] + row["raw"], specials=True)))
    after.write_text(json.dumps(encode(row["next_prompt"], specials=True)))
    assert main(["drift", *files, "--json"]) == 1
    drift = json.loads(capsys.readouterr().out)
    assert (drift["first_diff_token"], drift["lost_tokens"], drift["cause"]) == (
        row["first_diff_token"],
        row["tokens_lost"],
        "unknown",
    )
    reading = ["--tokenizer", str(tokenizer_file("qwen3.5")), "--format", "qwen3.8", "--html", str(out)]
    assert main(["drift", *files, *reading, "--json"]) == 1
    drift = json.loads(capsys.readouterr().out)
    assert (drift["cause"], drift["first_diff_byte_in_turn"]) == ("number_spelling", 555)
    assert main(["drift", str(before), str(before)]) == 0


# logs -----------------------------------------------------------------------------------------------------------------


def test_server_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two conversations and a side request in one log; each request is compared with the one it goes on from."""
    encode = Encoder(tokenizer("qwen3.5")).encode
    lines: list[dict[str, Any]] = []
    expected: list[tuple[str, int]] = []
    for number, name in enumerate(("control", "number_50_0", "think_leading_space", "history_think_36")):
        row = next(row for row in ROWS if row["name"] == name)
        mark = [1000 + number]  # four conversations, not four answers to one question
        prompt, sampled = mark + encode(row["prompt"], specials=True), encode(row["raw"], specials=True)
        after = mark + encode(row["next_prompt"], specials=True)
        lines += [
            {"request_id": f"{name}-1", "prompt_token_ids": prompt, "choices": [{"index": 0, "token_ids": sampled}]},
            {"level": "info", "message": "no ids here"},
            {
                "id": f"title-{number}",
                "prompt_token_ids": encode(f"<|im_start|>user\nTitle {number}?", specials=True),
                "token_ids": [1, 2],
            },
            {"id": f"{name}-2", "response": {"prompt_token_ids": after, "token_ids": [5]}},
        ]
        expected.append((name, row["tokens_lost"]))
    file = corpus(tmp_path / "server.log", lines)
    assert main(["drift", "--log", file, "--json"]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    real = {each["name"].split(" ")[0]: each for each in found if not each["name"].startswith("title")}
    for name, lost in expected:
        assert real[f"{name}-1"]["lost_tokens"] == lost and f"→ {name}-2" in real[f"{name}-1"]["name"]
    reading = ["--tokenizer", str(tokenizer_file("qwen3.5")), "--format", "qwen3.8", "--html", str(tmp_path / "log.html")]
    assert main(["drift", "--log", file, "--json", *reading]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    causes = {each["name"].split(" ")[0]: each["cause"] for each in found}
    assert causes["number_50_0-1"] == "number_spelling" and causes["think_leading_space-1"] == "think_leading_ws"
    assert causes["control-1"] == "none" and causes["history_think_36-1"] == "history_think_dropped"


def test_pairing() -> None:
    a, b = Request("a", [1, 2, 3], [4, 5]), Request("b", [9, 8], [7])
    following, retry = Request("c", [1, 2, 3, 4, 5, 6], [7]), Request("d", [1, 2, 3], [4, 6])
    assert list(pairs([a, b, following])) == [(a, following)]
    assert list(pairs([a, b, retry, following])) == [(a, following)]
    assert list(pairs([a, Request("e", [1, 7, 7, 7, 7], [])])) == []
    with pytest.raises(FormatError, match="line 2"):
        list(read_log(["{}", "{"]))
    assert list(read_log(["", "5", "[]", '{"prompt_token_ids": "x"}', '{"prompt_token_ids": [1]}'])) == [
        Request("request (line 5)", [1], [])
    ]
    deep: Any = {"prompt_token_ids": [1]}
    for _ in range(50):
        deep = {"x": deep}
    assert list(read_log([json.dumps(deep)])) == []


# pages ----------------------------------------------------------------------------------------------------------------


class Strict(HTMLParser):
    """Refuses what is not closed, what loads something and what runs."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag not in ("script", "img", "link", "iframe", "object")
        assert not any(name in ("src", "href") or name.startswith("on") for name, _ in attrs)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_pages_of_random_turns() -> None:
    cases = []
    for number in range(60):
        rng = random.Random(f"page/{number}")
        messages, kwargs, prompt, turn = random_case(rng, "qwen3.8")
        after = render_prompt(
            [*messages, turn.message(), *follow_up(rng, turn)], "qwen3.8", tools=TOOLS, normalize="openai", **kwargs
        )
        drift = explain(prompt, after, turn=turn)
        cases.append(Case(f"<{number}>", prompt.text + turn.raw, after.text, len(prompt.text), drift))
    for shown in (cases, *([case] for case in cases[:20]), []):
        parser = Strict()
        text = page(shown, title="A & B")
        parser.feed(text)
        parser.close()
        assert set(parser.open) <= {"html"} and "A & B" in "".join(parser.text)
        text.encode()
    hostile = Case(
        "x", "<script>alert(1)</script>\ud800\udc80\x00", "<script>alert(2)</script>", 3, explain("<script>1\udc80", "<script>2")
    )
    parser = Strict()
    parser.feed(page([hostile]))


def test_long_texts_are_cut() -> None:
    before, after = "a " * 40_000 + "x", "a " * 40_000 + "y"
    assert len(page([Case("long", before, after, 0, explain(before, after))])) < 60_000
    assert Summary.of([]).table() == "0 of 0 turns came back unchanged."
    assert Summary.of([Case("n", None, None, None, explain([1, 2], [1, 3]))]).as_dict()["causes"][0]["cause"] == "unknown"
    page([Case("ids", None, None, None, explain([1, 2], [1, 3]))])
