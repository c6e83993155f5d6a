"""The targets: they hold on the seeds and on every kept finding, and each of them can fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import qwenparse
from fuzz import checks, seeds, targets, triage
from fuzz.settings import HEADER, POLICIES, STARTS, TOOLS, settings
from fuzz.soak import generated
from fuzz.targets import NAMES, facts, load
from qwenparse import Policy
from qwenparse.values.literals import MAX_HELD

BODIES = [
    b"T.\n</think>\n\n<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>",
    b"a < b",
    b"\xff<",
]
INPUTS = [*generated(60, 9000), *(bytes(HEADER) + body for body in BODIES), b"", b"\0\1"]
CASES = sorted(triage.CASES.glob("*.bin")) if triage.CASES.exists() else []


@pytest.mark.parametrize("name", NAMES)
def test_target_holds(name: str) -> None:
    one = load(name).one
    for data in INPUTS:
        one(data)


@pytest.mark.parametrize("name", NAMES)
def test_target_says_what_it_is(name: str) -> None:
    f = facts(name)
    assert f.min_edges > 50
    assert f.native or f.bytecode
    assert (load(name).__doc__ or "").strip()


def test_kept_findings() -> None:
    for case in CASES:
        load(case.stem.split("-", 1)[1]).one(case.read_bytes())


def test_kept_findings_are_numbered() -> None:
    index = triage.CASES / "index.jsonl"
    rows = [json.loads(line) for line in index.read_text("utf-8").splitlines()] if index.exists() else []
    assert [r["number"] for r in rows] == list(range(1, len(rows) + 1))
    assert {f"{r['number']:03}-{r['target']}" for r in rows} == {c.stem for c in CASES}


def _lose_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "read", lambda body: body.decode("utf-8", "replace"))


def _wrong_whole(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    real = checks.whole
    monkeypatch.setattr(checks, "whole", lambda s, data, **more: real(change(s), data, **more))


def _fails(name: str, **broken: Any) -> None:
    one = load(name).one
    with pytest.raises(AssertionError):
        for data in INPUTS:
            one(data)


def test_spans_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    _lose_text(monkeypatch)
    _fails("spans")


def test_specification_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    _wrong_whole(monkeypatch, lambda s: s._replace(policy=Policy(argument_end="first", stray_think_close="drop")))
    _fails("specification")


def test_deltas_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    _wrong_whole(monkeypatch, lambda s: s._replace(stop="other_stop" if s.stop == "none" else "none"))
    _fails("deltas")


def test_policies_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    _wrong_whole(monkeypatch, lambda s: s._replace(start="reasoning") if s.policy.fenced_call == "call" else s)
    _fails("policies")


@pytest.mark.parametrize("name", ["cutting", "prefix", "token_ids", "deltas"])
def test_dependence_on_cuts_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that forgets what it held at the second feed."""

    class Forgetful:
        def __init__(self, *args: Any, **more: Any) -> None:
            self._make = lambda: qwenparse.Parser(*args, **more)
            self._real = self._make()
            self._fed = 0

        def __getattr__(self, attribute: str) -> Any:
            return getattr(self._real, attribute)

        def _forget(self) -> None:
            self._fed += 1
            if self._fed == 3:
                self._real = self._make()

        def feed(self, data: Any) -> Any:
            self._forget()
            return self._real.feed(data)

        def feed_ids(self, ids: Any) -> Any:
            self._forget()
            return self._real.feed_ids(ids)

    monkeypatch.setattr(checks, "Parser", Forgetful)
    if name == "deltas":
        monkeypatch.setattr(checks, "DeltaParser", Forgetful)
    _fails(name)


def test_typing_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_equal", lambda one, two: one == {})
    _fails("typing")


def test_json_calls_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("json_calls")
    monkeypatch.setattr(module, "_is_object", lambda value: value == {})
    for body in (b'{"a": 1}}', b"[1]}", b"{}}"):
        data = bytes(HEADER) + body
        if body == b'{"a": 1}}':
            with pytest.raises(AssertionError):
                module.one(data)
        else:
            module.one(data)


def test_settings_cover_their_tables() -> None:
    assert settings(b"")[0] == settings(bytes(HEADER))[0]
    default = settings(b"")[0]
    assert (default.format, default.start, default.tools) == ("qwen3.5", None, 0)
    assert (default.policy, default.stop, default.cut, default.max_held) == (Policy(), "im_end", 0, MAX_HELD)
    seen = [settings(bytes((b, b, b, b)) + b"x")[0] for b in range(256)]
    assert {(s.format, s.start) for s in seen} == set(STARTS)
    assert {s.tools for s in seen} == set(range(len(TOOLS)))
    assert {s.stop for s in seen} == {"im_end", "other_stop", "none"}
    assert len(set(POLICIES)) == 192
    assert {s.cut for s in seen} == set(range(64))
    assert {s.max_held for s in seen} == {MAX_HELD, *range(1, 33)}


def test_seeds_hold(tmp_path: Any) -> None:
    texts = [b"one", b"two"]
    assert seeds.write(tmp_path, texts) == 4
    written = [p.read_bytes() for p in tmp_path.iterdir()]
    assert sorted({w[HEADER:] for w in written}) == sorted(texts)
    assert sum(w[:HEADER] == bytes(HEADER) for w in written) == 2


def test_names_are_modules() -> None:
    assert "lossless" in NAMES and "specification" in NAMES and list(NAMES) == sorted(NAMES)
    with pytest.raises(SystemExit):
        targets.load("nothing")
