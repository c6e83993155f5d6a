"""Linear work, bounded memory, threads, leaks."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable

import lexemes
import pytest

import qwenparse
from qwenparse.testing import HELD_LIMIT

OPEN = "<tool_call>\n<function=sh>\n<parameter=cmd>\n"
JSON_OPEN = '<tool_call>\n{"name": "sh", "arguments": {"cmd": "'
TEXTS: dict[str, Callable[[int], str]] = {
    "content": lambda n: "word " * (n // 5),
    "newlines": lambda n: "a\n" * (n // 2),
    "whitespace": lambda n: " " * n,
    "whitespace runs": lambda n: (" " * 1000 + "x") * (n // 1001),
    "angles": lambda n: "<" * n,
    "tag beginnings": lambda n: "</thin" * (n // 6),
    "calls that are none": lambda n: "<tool_call>\n<function=sh>\nx" * (n // 27),
    "call tags": lambda n: "<tool_call>" * (n // 11),
    "fences": lambda n: "```\n" * (n // 4),
    "argument": lambda n: OPEN + "x = 1\n" * (n // 6),
    "argument of angles": lambda n: OPEN + "</parameter>" * (n // 12),
    "argument of closers": lambda n: OPEN + "\n</function>\n</tool_call>x" * (n // 25),
    "argument of whitespace": lambda n: OPEN + ("</parameter>" + " " * 1000) * (n // 1012),
    "parameters": lambda n: OPEN + "\n</parameter>\n<parameter=a>\n" * (n // 28),
    "json argument": lambda n: JSON_OPEN + "x = 1\\n" * (n // 7),
    "json without a name": lambda n: '<tool_call>\n{"arguments": {"a": "' + "x" * n,
    "json openers": lambda n: '<tool_call>{"id": "' * (n // 19),
    "json nesting": lambda n: '<tool_call>\n{"name": "sh", "arguments": {"a": ' + "[" * n,
    "calls": lambda n: (lexemes.CALL + "\n") * (n // 90),
    "stray closers": lambda n: lexemes.CALL + "\n</tool_call>" * (n // 13),
    "stray thinks": lambda n: "a</think> " * (n // 10),
    "junk": lambda n: "<tool_call>\n<function=sh>\n<x " + "y " * (n // 2),
    "broken json": lambda n: '<tool_call>\n{"name": "sh", "arguments": {"a" ' + '"</tool_cal' * (n // 11),
}


def work(text: str, size: int, format: str = "qwen3.5") -> int:
    parser = qwenparse.Parser(format, start="content", max_held=4096)
    limit = HELD_LIMIT + 4096
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
        assert len(parser.held) <= limit
    parser.close()
    return parser.work


@pytest.mark.parametrize("size", [1, 4, 1 << 30])
@pytest.mark.parametrize("name", TEXTS)
def test_characters_looked_at_grow_linearly(name: str, size: int) -> None:
    """Exact counts, so nothing here depends on the clock."""
    small, large = (work(TEXTS[name](n), size) for n in (20_000, 80_000))
    assert large <= 4.3 * small + 2000
    assert large <= 80_000 * 24


@pytest.mark.parametrize("name", TEXTS)
def test_held_text_is_bounded_without_json(name: str) -> None:
    parser = qwenparse.Parser("qwen3.5", start="content", max_held=1)
    for at in range(0, 20_000, 7):
        parser.feed(TEXTS[name](20_000)[at : at + 7])
        assert len(parser.held) <= HELD_LIMIT


def test_window_is_exact() -> None:
    for count, calls in ((1024, 1), (1025, 0)):
        text = "<tool_call>" + " " * count + "<function=sh>\n</function>\n</tool_call>"
        assert len(qwenparse.parse(text, "qwen3-coder").calls) == calls
    for count, content in ((1024, None), (1025, " " * 1025)):
        assert qwenparse.parse(" " * count, "qwen3-coder").content == content
    for count, name in ((256, "n" * 256), (257, None)):
        text = f"<tool_call>\n<function={'n' * count}>\n</function>\n</tool_call>"
        calls_ = qwenparse.parse(text, "qwen3-coder").calls
        assert [c.name for c in calls_] == ([name] if name else [])


def test_a_json_block_without_a_name_becomes_text() -> None:
    text = '<tool_call>\n{"arguments": {"a": "' + "x" * 200
    turn = qwenparse.parse(text, "qwen3", max_held=100)
    assert turn.content == text and [i.code for i in turn.issues] == ["window-exceeded"]


def test_no_limit_is_the_largest_number_there_is() -> None:
    for arguments in ('{"a": 1}', '"{\\"a\\": 1}"'):
        text = '<tool_call>\n{"arguments": ' + arguments + ', "name": "f"}\n</tool_call>'
        turn = qwenparse.parse(text, "qwen3", max_held=sys.maxsize)
        assert not turn.issues and turn.tool_calls[0].arguments == {"a": 1}


COLLECTED = """
import gc, random, sys
sys.path.insert(0, {tests!r})
import lexemes, qwenparse
chance, kept, parser, inside = random.Random(1), [], None, False
pieces = ["x", "Plan.\\n", "</think>\\n\\n", "  \\n", "\\udc80", "<", lexemes.CALL, lexemes.JSON_CALL, lexemes.CALL[:40]]
actions = [
    lambda: parser.held, lambda: parser.turn, lambda: parser.copy().close(), lambda: parser.feed("x\\n"), lambda: parser.reset(),
    lambda: parser.close(stop="im_end"),
]
def meddle(phase, info):
    global inside
    if parser is not None and not inside and chance.random() < 0.5:
        inside = True
        try:
            chance.choice(actions)()
        except (RuntimeError, qwenparse.ParserClosed):
            pass
        inside = False
gc.callbacks.append(meddle)
gc.set_threshold(1)
for _ in range(1500):
    parser = chance.choice([qwenparse.Parser, qwenparse.DeltaParser])("qwen3.5")
    kept = kept[-200:] + [[[] for _ in range(chance.randrange(5))]]
    try:
        for _ in range(chance.randrange(12)):
            kept.append(parser.feed(chance.choice(pieces)))
        kept.append(parser.close(stop="other_stop", text="<|stop|>" * 50))
    except (RuntimeError, qwenparse.ParserClosed):
        pass
    parser = None
"""


def test_a_parser_used_during_garbage_collection() -> None:
    """Collection may begin where an object is made, in the middle of a feed or of its end, and a finalizer may use any parser."""
    import pathlib

    code = COLLECTED.format(tests=str(pathlib.Path(__file__).parents[1]))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_many_parsers_in_many_threads() -> None:
    text = "Plan.\n</think>\n\nHi\n\n" + lexemes.CALL
    whole = qwenparse.parse(text, "qwen3.5")
    wrong: list[int] = []

    def run(number: int) -> None:
        for _ in range(50):
            parser = qwenparse.Parser("qwen3.5")
            for c in text:
                parser.feed(c)
            parser.close()
            if parser.turn != whole:
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_one_parser_shared_by_threads_reads_a_piece_or_refuses_it() -> None:
    parser = qwenparse.Parser("qwen3.5", start="content")
    read: list[int] = []

    def run() -> None:
        for _ in range(300):
            try:
                parser.feed(lexemes.CALL + " x\n")
            except RuntimeError:
                continue
            read.append(1)

    def look() -> None:
        for _ in range(300):
            for ask in (parser.copy, lambda: (parser.held, parser.held_bytes, parser.position), lambda: parser.turn):
                with contextlib.suppress(RuntimeError):
                    ask()

    threads = [threading.Thread(target=target) for target in (run, run, run, run, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read and parser.turn.raw == len(read) * (lexemes.CALL + " x\n")
    assert len(parser.turn.tool_calls) == len(read)


LEAK = """
import sys, gc
sys.path.insert(0, {tests!r})
import lexemes, qwenparse
text = "Plan.\\n</think>\\n\\nHi <x\\n\\n" + lexemes.CALL + lexemes.JSON_CALL + "\\n</tool_call>"
def turn():
    p = qwenparse.Parser("qwen3.5", tools=lexemes.TOOLS)
    for c in text:
        p.feed(c)
    q = p.copy()
    q.close(stop="im_end")
    q.turn.message()
    d = qwenparse.DeltaParser("qwen3.5")
    d.feed(text.encode())
    d.close()
    d.reset()
for _ in range(50):
    turn()
gc.collect()
before = sys.getallocatedblocks()
for _ in range(2000):
    turn()
gc.collect()
grown = sys.getallocatedblocks() - before
assert grown < 200, grown
"""


def test_no_leak_over_many_turns() -> None:
    import pathlib

    code = LEAK.format(tests=str(pathlib.Path(__file__).parents[1]))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
