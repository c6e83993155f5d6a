"""The command line as a user has it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import qwenparse
from qwenparse.cli import main, turns

TEXT = (
    "Plan.\n</think>\n\nHi é\n\n<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n<parameter=n>\n1.0\n"
    "</parameter>\n</function>\n</tool_call>"
)


@pytest.fixture
def completion(tmp_path: Path) -> str:
    path = tmp_path / "turn.txt"
    path.write_text(TEXT, "utf-8")
    return str(path)


def test_parse(completion: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", completion, "--format", "qwen3.5", "--spans"]) == 0
    out = capsys.readouterr().out
    for word in ("Plan.", "Hi é", "sh", "1.0", "think_close", "lossless", "\n  cmd"):
        assert word in out
    assert "\x1b" not in out


@pytest.mark.parametrize("cut", ["whole", "chars", "bytes", "tokens", "7"])
def test_parse_json(completion: str, cut: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", completion, "--format", "qwen3.5", "--json", "--cut", cut]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["calls"][0]["arguments"] == {"cmd": "ls", "n": "1.0"} and found["lossless"] and found["issues"] == []


def test_parse_stdin_live_and_policy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(TEXT.encode() + b"\xff")

    monkeypatch.setattr(sys, "stdin", Stdin)
    args = ["parse", "--format", "qwen3.5", "--live", "--delay", "0", "--color", "always",
            "--policy", "stray_think_close=drop", "--stop", "im_end"]  # fmt: skip
    assert main(args) == 0
    out = capsys.readouterr().out
    assert "\x1b[" in out and "broken-utf8" in out and "\\xff" in out


def test_parse_as_ollama_reads_it(completion: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", completion, "--mode", "ollama:qwen3-coder", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"][0]["name"] == "sh"


def test_compare_of_recorded_turns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n  model") == len(turns.shipped()) >= 20
    assert "splice" in out and "Spliced: 0 changed" in out and "^" in out


def test_compare_with_ollama(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--mode", "ollama:qwen3-coder", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(r["replays"][1]["first_diff_byte_in_turn"] is None for r in rows)
    assert any(r["replays"][0]["first_diff_byte_in_turn"] is not None for r in rows)


def test_compare_shows_what_a_template_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(json.dumps({"format": "qwen3.8", "gen_prefix": "<think>\n", "text": TEXT, "stop": "im_end"}), "utf-8")
    assert main(["compare", str(path), "--json"]) == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert row["replays"][0]["first_diff_byte_in_turn"] is None, "a string 1.0 comes back as it was"
    path.write_text(json.dumps({"format": "qwen3.8", "gen_prefix": "<think>\n", "text": TEXT.replace("\n\n<tool", "\n<tool"),
                                "stop": "im_end"}), "utf-8")  # fmt: skip
    main(["compare", str(path), "--json"])
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert row["replays"][0]["first_diff_byte_in_turn"] == TEXT.encode().index(b"\n\n<tool") + 1


@pytest.mark.parametrize("args", [
    ["parse", "x.txt"], ["parse", "nowhere.txt", "--format", "qwen3"], ["parse", "T", "--format", "gpt"],
    ["parse", "T", "--format", "qwen3", "--cut", "some"], ["parse", "T", "--format", "qwen3", "--policy", "x=y"],
    ["parse", "T", "--format", "qwen3", "--mode", "vllm"], ["compare", "T", "--format", "qwen3", "--tools", "T"],
])  # fmt: skip
def test_wrong_usage_is_one_clear_line(completion: str, args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([completion if a == "T" else a for a in args]) == 2
    error = capsys.readouterr().err
    assert error.startswith("qwenparse ") and error.count("\n") == 1


@pytest.mark.parametrize("row", [
    '{"text": 5}', '{"text": null}', '{"pieces": 5}', '{"pieces": ["a", null]}', '{"text": "ab", "pieces": ["a"]}',
    '{"text": "x", "stop": "eos"}', '{"text": "x", "gen_prefix": 5}', '{"text": "x", "format": 5}', '{"text": "x", "tools": 5}',
    "[1]", "nope", '{"text": ' + "[" * 200_000,
])  # fmt: skip
def test_a_bad_row_is_one_clear_line(row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(row)
    assert main(["parse", str(path), "--format", "qwen3"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("qwenparse parse: ") and error.count("\n") == 1


def test_surrogates_in_ollama_mode_are_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text('{"text": "\\ud800"}')
    assert main(["parse", str(path), "--mode", "ollama:qwen3"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_binary_is_no_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jinja"
    path.write_bytes(b"\x7fELF\xff")
    assert main(["check-template", str(path)]) == 2
    assert "is not UTF-8" in capsys.readouterr().err


def test_live_shows_control_characters_of_every_region(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "turn.txt"
    path.write_bytes(b"Hi <tool_call>\n<function=a>\n<\x1b[2J\xff \r\v</function>\n</tool_call>\n")
    assert main(["parse", str(path), "--format", "qwen3.5", "--start", "content", "--live", "--delay", "0"]) == 0
    out = capsys.readouterr().out
    assert not set(out) & {"\x1b", "\udcff", "\r", "\v"} and "␛[2J" in out and "\\xff" in out


@pytest.mark.parametrize("how", ["²", "-1", "0"])
def test_a_cut_that_is_no_number(completion: str, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", completion, "--format", "qwen3", "--cut", how]) == 2


def test_an_output_that_is_not_unicode(completion: str) -> None:
    command = [sys.executable, "-m", "qwenparse", "parse", completion, "--format", "qwen3.5", "--spans"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=True)
    assert b"Hi \\xe9" in done.stdout


@pytest.mark.parametrize("closed", [0, 1])
def test_closed_streams_are_one_clear_line(closed: int) -> None:
    code = "import os, sys; os.close(int(sys.argv[1])); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
    command = [sys.executable, "-c", code, str(closed), "-m", "qwenparse", "compare"]
    done = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "is closed" in done.stderr


def test_the_module_runs() -> None:
    done = subprocess.run([sys.executable, "-m", "qwenparse", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"qwenparse {qwenparse.__version__}"
