"""Every recorded case of the reference's generic thinking parser."""

from __future__ import annotations

from ollama_golden import feedings, rows, text

from qwenparse.ollama import ThinkingParser

CASES = rows("ollama_thinking.jsonl")


def test_every_add_answers_as_recorded() -> None:
    assert len(CASES) == 300
    for case in CASES:
        expected = [(text(e.get("content", "")), text(e.get("thinking", ""))) for e in case["expect"]]
        for way, pieces in feedings([text(chunk) for chunk in case["chunks"]]):
            parser = ThinkingParser(case["open"], case["close"], case.get("prefill", False))
            got = [(r.content, r.thinking) for r in map(parser.add, pieces)]
            assert got == expected, (case["id"], way)


def test_tag_may_be_cut_inside_a_character() -> None:
    parser = ThinkingParser("«思»", "«/思»")
    pieces = [bytes([byte]) for byte in "«思»a«/思» b".encode()]
    results = [parser.add(piece) for piece in pieces]
    assert "".join(r.thinking for r in results) == "a"
    assert "".join(r.content for r in results) == "b"


def test_leading_white_space_is_content_unless_the_tag_follows() -> None:
    parser = ThinkingParser()
    assert [parser.add(c).content for c in (" \n", "<th", "x")] == ["", "", " \n<thx"]
