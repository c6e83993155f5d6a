"""The probes by name, and how one is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .report import Finding, ProbeResult, Verdict
from .target import Messages, Outcome, Target


class NotApplicable(Exception):
    """The template has nothing that the probe could ask about."""


class Probe(NamedTuple):
    """A probe: what it asks, the rule of the robust policy behind it, and the function that asks."""

    name: str
    rule: str
    run: Callable[[Target], Iterator[Finding]]


PROBES: list[Probe] = []
"""All probes in the order of their reports."""


def probe(name: str, rule: str) -> Callable[[Callable[[Target], Iterator[Finding]]], Callable[..., Iterator[Finding]]]:
    """Registers a probe."""

    def register(run: Callable[[Target], Iterator[Finding]]) -> Callable[..., Iterator[Finding]]:
        PROBES.append(Probe(name, rule, run))
        return run

    return register


def run_probe(probe: Probe, target: Target) -> ProbeResult:
    """Runs one probe; findings without a rule get the probe's. Of one code the first is kept."""
    found: dict[str, Finding] = {}
    try:
        for finding in probe.run(target):
            found.setdefault(finding.code, finding)
    except NotApplicable as error:
        if not found:
            return ProbeResult(probe.name, "not applicable", reason=str(error))
    return ProbeResult(probe.name, verdict_of(found.values()), tuple(found.values()))


def verdict_of(findings: Any) -> Verdict:
    severities = {finding.severity for finding in findings}
    return "defect" if "defect" in severities else "warning" if severities else "ok"


def defect(
    target: Target,
    code: str,
    what: str,
    cost: str,
    messages: Messages,
    outcome: Outcome | str,
    *,
    rule: str,
    tools: Any = None,
    **options: Any,
) -> Finding:
    """A defect with its example."""
    return Finding(code, what, cost, "defect", rule, target.example(messages, outcome, tools, **options))
