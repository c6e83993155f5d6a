"""The parts of the benchmarks that can be wrong without anyone noticing: scoring, cuts, the picture, the floor."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import real_tokenizers

from benchmarks import floor, peers, per_token, picture, report
from benchmarks.corpus import Turn, corpus
from benchmarks.ours import OURS
from benchmarks.peers_table import Row, judge, table, text_pieces
from qwenparse.tokens import Encoder

TURNS = list(corpus(20))


class Told(peers.Adapter):
    """Answers with the truth, but for what `wrong` changes."""

    name, what, requires, unit = "told", "", "", "text"

    def __init__(self, wrong: Any) -> None:
        self.wrong = wrong

    def stream(self, turn: Turn, pieces: Any) -> peers.Parsed:
        parsed = peers.Parsed(turn.reasoning, turn.content, list(turn.calls))
        self.wrong(turn, parsed)
        return parsed

    def drop(self, turn: Turn, pieces: Any) -> None:
        raise AssertionError


def score(wrong: Any, **options: Any) -> peers.Score:
    return peers.score(Told(wrong), TURNS, [()] * len(TURNS), **options)


def test_scores() -> None:
    def strips(turn: Turn, parsed: peers.Parsed) -> None:
        parsed.content = f"\n{parsed.content or ''} "

    def loses_the_last_call(turn: Turn, parsed: peers.Parsed) -> None:
        parsed.calls = parsed.calls[:-1]

    def raises(turn: Turn, parsed: peers.Parsed) -> None:
        if turn.calls:
            raise KeyError("arguments")

    without = sum(not turn.calls for turn in TURNS) / len(TURNS)
    assert 0 < without < 1
    assert score(lambda *_: None, exact=True) == peers.Score(1, 1, 1, 0)
    assert score(strips) == peers.Score(1, 1, 1, 0)
    assert score(strips, exact=True) == peers.Score(1, 0, 0, 0)
    assert score(loses_the_last_call) == peers.Score(without, 1, without, 0)
    assert score(raises) == peers.Score(without, without, without, round(len(TURNS) * (1 - without)))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1.0, True), (1, True, False), (True, True, True), (0, False, False), (None, None, True), (None, "", False),
        ({"a": 1}, {"a": 1.0}, True), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False), ({"a": 1}, {"a": True}, False),
        ([1, 2], [1, 2], True), ([1], [1, 2], False), ([], {}, False), ("5", 5, False),
    ],
)  # fmt: skip
def test_values_are_compared_as_json(a: Any, b: Any, same: bool) -> None:
    assert peers.same_value(a, b) is same and peers.same_value(b, a) is same


@pytest.mark.parametrize("adapter", OURS)
def test_our_rows_are_right(adapter: type[peers.Adapter]) -> None:
    turns = list(corpus(60))
    encoders = {name: Encoder(real_tokenizers.tokenizer(name)) for name in real_tokenizers.NAMES}
    ids = [turn.ids(encoders[turn.vocabulary]) for turn in turns]
    data = ids if adapter.unit == "ids" else [text_pieces(turn, i) for turn, i in zip(turns, ids, strict=True)]
    assert peers.score(adapter(), turns, data, exact=True) == peers.Score(1, 1, 1, 0)
    for turn, pieces in zip(turns, data, strict=True):
        adapter().drop(turn, pieces)


def test_the_prompt_tail_is_the_templates() -> None:
    tails = {(turn.format, turn.start): peers.prompt_tail(turn) for turn in corpus(200)}
    assert tails["qwen3.6", "reasoning"] == tails["qwen3-thinking-2507", "reasoning"] == "<|im_start|>assistant\n<think>\n"
    assert tails["qwen3.6", "content"] == "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert tails["qwen3", "auto"] == tails["qwen3-coder", "content"] == "<|im_start|>assistant\n"


def row(name: str, ns: float, right: float = 1, dialect: str = "XML", unit: str = "text") -> Row:
    return Row(name, "1", dialect, "by token", unit, ns, ns, right, right, right, 0)


def test_the_table_is_judged() -> None:
    ours = [row("qwenparse", 90), row("qwenparse (ids)", 400, unit="ids")]
    assert judge([*ours, row("peer", 91), row("whole", 401, 0.5, unit="ids"), row("json", 1, dialect="JSON")]) == []
    assert judge([*ours, row("peer", 90)]) == ["qwenparse: 90 ns a token (XML), peer: 90"]
    assert judge([row("qwenparse", 90, 0.999), row("peer", 91, 0)]) == [
        "qwenparse is right on 99.90% of the XML turns",
        "the adapter of peer is right on no XML turn: it is broken, not the parser",
    ]
    assert judge([row("qwenparse", 90), row("mlx-lm", 900)]) == []
    assert judge([row("qwenparse", 90), row("mlx-lm", 890)]) == ["mlx-lm takes 9.9 times as long as qwenparse (XML), not 10"]
    text = table([row("qwenparse", 1234.5)], {"vLLM": "not here"})
    assert "| 1,234" in text and "100.0%" in text and "missing: vLLM: not here" in text


def test_rows_over_their_limit_are_named() -> None:
    rows = {base: 1.0 for base, _ in per_token.LIMITS.values()} | {name: limit for name, (_, limit) in per_token.LIMITS.items()}
    assert per_token.over(rows) == []
    rows["ids, whole turn, dropped"] = 0.7
    (problem,) = per_token.over(rows)
    assert problem.startswith("ids, whole turn, dropped: 0.70 x 'floor: list with one event'")


def test_the_report_writes_between_its_markers_only() -> None:
    page = "head\n<!-- ways -->\nold\n<!-- /ways -->\ntail <!-- /peers -->\n"
    assert report.written(page, "ways", "new\nlines") == page.replace("old", "new\nlines")
    for name in ("peers", "other"):
        with pytest.raises(ValueError, match=name):
            report.written(page, name, "x")
    ways = {name: 10.0 for pair in per_token.LIMITS.items() for name in (pair[0], pair[1][0])}
    text = report.ways_table(report.Measured("about", ways, 1234, [], {}))
    assert "about; 1,234 tokens." in text
    assert "| ids, whole turn, dropped | 10.0 | 1.00 | 0.6 **missed** |" in text
    assert "| ids, one by one, consumed | 10.0 | 1.00 | 3.0 |" in text


def test_the_page_of_figures_was_written_by_the_report() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "performance.md").read_text("utf-8")
    for name in per_token.LIMITS:
        assert f"| {name} |" in page
    assert report.written(page, "ways", "") != page != report.written(page, "peers", "")
    drawn = (docs / "performance.svg").read_text("utf-8")
    for adapter in (*OURS, *peers.adapters()):
        assert f"| {adapter.name} " in page and f">{adapter.name} " in drawn
    assert all(f"missing: {name}" in page for name in peers.NOT_RUN)


def test_cuts_go_round() -> None:
    assert [len(step) for step in per_token.cuts(range(100), 1, 8)][:10] == [1, 2, 3, 4, 5, 6, 7, 8, 1, 2]
    assert [i for step in per_token.cuts(range(101), 1, 8) for i in step] == list(range(101))


def test_the_picture_shows_every_bar_to_scale() -> None:
    data = [
        picture.Bar("a <b>", 10, "100 %", True),
        picture.Bar("c", 1000, "5 %", False),
        picture.Bar("d", 99, "", False),
    ]
    root = ElementTree.fromstring(picture.bars(data, "title", "about"))
    widths = [float(rect.get("width", "")) for rect in root.findall("{*}rect")[1:]]
    assert widths[0] == 0 and 0 < widths[2] < widths[1]
    assert widths[2] / widths[1] == pytest.approx(0.5, abs=0.01)
    assert {"a <b>", "title", "1,000 · 5 %"} <= {text.text for text in root.findall("{*}text")}


def test_the_floor_does_what_its_rows_say() -> None:
    module = floor.load()
    rows = module.Floor()
    assert rows.nothing("x") is None and rows.shared("x") == ()
    assert (rows.event("ab").text, rows.event("c").start) == ("ab", 3)
    (event,) = rows.listed("d")
    assert (event.raw, event.start, type(event)) == ("d", 4, module.TextEvent)
    assert floor.consume(rows.listed, module.TextEvent, ["e", "f"]) == ["e", "f"]
    measured = floor.rows(["word"] * 2000, rounds=3)
    assert 0 < measured["event"] < measured["listed, consumed"] < 5000
