"""The stub says what the extension does, and type checkers see it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import qwenparse

EXAMPLES = '''
from qwenparse import DeltaParser, Parser, Turn, parse
reveal_type(Parser("qwen3").feed("x"))
reveal_type(DeltaParser("qwen3").feed("x"))
reveal_type(Parser("qwen3").turn)
reveal_type(parse("x", "qwen3").reasoning)
reveal_type(Parser.for_prompt("x"))
reveal_type(parse("x", "qwen3").tool_calls[0].arguments_json)
'''
EXPECTED = [
    "Sequence[qwenparse._events.ReasoningDelta | qwenparse._events.ContentDelta",
    "qwenparse._events.Delta | None",
    "qwenparse.turn.Turn",
    "str | None",
    "qwenparse._core.Parser",
    "str",
]


def run(*args: str) -> str:
    done = subprocess.run([sys.executable, "-m", *args], capture_output=True, text=True, timeout=600)
    return done.stdout + done.stderr


def test_stub_agrees_with_the_extension() -> None:
    assert "Success" in run("mypy.stubtest", "qwenparse._core", "qwenparse._events")


def test_revealed_types(tmp_path: Path) -> None:
    path = tmp_path / "examples.py"
    path.write_text(EXAMPLES)
    revealed = [line.split('"')[1] for line in run("mypy", "--strict", str(path)).splitlines() if "Revealed" in line]
    assert len(revealed) == len(EXPECTED)
    for found, wish in zip(revealed, EXPECTED, strict=True):
        assert found.replace("typing.", "").replace("Union[", "").startswith(wish), found


def test_package_is_strictly_typed() -> None:
    assert "Success" in run("mypy", "--strict", str(Path(qwenparse.__file__).parent))


def test_all_names_exist() -> None:
    assert all(hasattr(qwenparse, name) for name in qwenparse.__all__)
    assert sorted(qwenparse.__all__) == qwenparse.__all__
