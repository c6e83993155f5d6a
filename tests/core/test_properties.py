"""Properties (Hypothesis): near-valid turns and plain text, every cutting."""

from __future__ import annotations

from typing import Any

import lexemes
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import qwenparse
from qwenparse.formats import POLICY_VALUES
from qwenparse.testing import Accumulated, check, normalize

SOUP = st.lists(st.sampled_from(lexemes.LONG), max_size=12).map("".join)
TEXT = st.text(max_size=60)
ANY = st.text(st.characters(), max_size=40)          # surrogates included


@st.composite
def wounded(draw: st.DrawFn) -> str:
    """A near-valid turn with a lexeme put in somewhere."""
    text = draw(st.sampled_from(lexemes.TEMPLATES))
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.sampled_from(lexemes.LONG)) + text[at:]


TURNS = st.one_of(SOUP, TEXT, ANY, st.tuples(SOUP, TEXT, SOUP).map("".join), wounded())
POLICIES = st.fixed_dictionaries({k: st.sampled_from(v) for k, v in POLICY_VALUES.items()}).map(
    lambda values: qwenparse.Policy(**values)
)
SETTINGS = st.fixed_dictionaries({
    "format": st.sampled_from(list(qwenparse.formats.FORMATS)),
    "tools": st.sampled_from(lexemes.TOOL_CHOICES),
    "start": st.sampled_from(lexemes.STARTS),
    "policy": POLICIES,
    "stop": st.sampled_from(lexemes.STOPS),
})  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(TURNS, SETTINGS, st.integers(0, 2**32))
def test_invariants(text: str, chosen: dict[str, Any], seed: int) -> None:
    check(text, seed=seed, **chosen)


@settings(max_examples=60, deadline=None)
@given(TURNS, SETTINGS)
def test_every_prefix(text: str, chosen: dict[str, Any]) -> None:
    check(text[:200], every_prefix=True, **chosen)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), SETTINGS, st.integers(0, 2**32))
def test_any_bytes(data: bytes, chosen: dict[str, Any], seed: int) -> None:
    assert check(data, seed=seed, **chosen).raw_bytes[: len(data)] == data


@settings(max_examples=200, deadline=None)
@given(TURNS, SETTINGS, POLICIES, st.sampled_from(lexemes.TOOL_CHOICES))
def test_policy_and_tools_change_classification_only(
    text: str, chosen: dict[str, Any], policy: qwenparse.Policy, tools: Any
) -> None:
    one = qwenparse.parse(text, **chosen)
    two = qwenparse.parse(text, **{**chosen, "policy": policy, "tools": tools})
    assert one.raw == two.raw == qwenparse.render(one) == qwenparse.render(two)


class Machine(RuleBasedStateMachine):
    """feed, copy, close and reset in any order: a copy and its origin never know of each other."""

    def __init__(self) -> None:
        super().__init__()
        self.parser = qwenparse.Parser("qwen3.5", tools=lexemes.TOOLS)
        self.fed = ""
        self.events: list[qwenparse.Event] = []
        self.others: list[tuple[qwenparse.Parser, str, list[qwenparse.Event]]] = []

    @precondition(lambda self: self.parser.closed is None)
    @rule(piece=st.one_of(st.sampled_from(lexemes.LONG), st.text(max_size=5)))
    def feed(self, piece: str) -> None:
        self.events += self.parser.feed(piece)
        self.fed += piece

    @rule()
    def copy(self) -> None:
        self.others.append((self.parser, self.fed, list(self.events)))
        self.parser = self.parser.copy()

    @precondition(lambda self: self.others)
    @rule()
    def back(self) -> None:
        self.parser, self.fed, self.events = self.others.pop()

    @precondition(lambda self: self.parser.closed is None)
    @rule(stop=st.sampled_from(lexemes.STOPS))
    def close(self, stop: str) -> None:
        self.events += self.parser.close(stop=stop)  # type: ignore[arg-type]
        assert self.parser.turn == qwenparse.parse(self.fed, "qwen3.5", tools=lexemes.TOOLS, stop=stop)  # type: ignore[arg-type]

    @rule()
    def reset(self) -> None:
        self.parser.reset()
        self.fed, self.events = "", []

    @invariant()
    def same_as_once(self) -> None:
        if self.parser.closed is None:
            whole = qwenparse.Parser("qwen3.5", tools=lexemes.TOOLS)
            assert normalize(whole.feed(self.fed)) == normalize(self.events)
            assert (whole.held, whole.state, whole.position) == (
                self.parser.held, self.parser.state, self.parser.position)  # fmt: skip
        seen = Accumulated(self.parser)
        seen.add(self.events)
        seen.same_as(self.parser.turn)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
