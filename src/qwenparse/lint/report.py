"""What a check found, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Verdict = Literal["ok", "defect", "warning", "not applicable", "not run"]
Severity = Literal["defect", "warning"]
Owner = Literal["template", "client", "message"]

_SHOWN = 160


@dataclass(frozen=True)
class Example:
    """A smallest input that shows a finding, and what came out: the text that matters or the error."""

    messages: list[dict[str, Any]]
    options: dict[str, Any]
    output: str
    tools: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Finding:
    """One defect or warning. `rule` is the rule of the robust policy that it breaks (docs/templates.md)."""

    code: str
    what: str
    cost: str
    severity: Severity = "defect"
    rule: str | None = None
    example: Example | None = None


@dataclass(frozen=True)
class ProbeResult:
    """The outcome of one probe; `reason` says why it does not apply or did not run."""

    name: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class Loss:
    """Where the next prompt leaves the text that a server holds, and what that costs.

    `offset`: bytes from the start of the turn in which the texts part, negative inside the prompt; None if the next
    prompt begins with all of it. `lost_bytes`, `lost_tokens`: held text that cannot be used again, `share` of the
    turn's bytes lost (more than the turn counts as all of it). Tokens only with a tokenizer; prompt, turn and next
    prompt are then encoded apart, and `lost_tokens` may be above 0 where every byte agrees.
    """

    offset: int | None
    lost_bytes: int
    share: float
    lost_tokens: int | None = None

    @property
    def stable(self) -> bool:
        return self.offset is None and not self.lost_tokens


@dataclass(frozen=True)
class Shape:
    """One conversation with a canonical turn. `loss` is None where the template refuses it (`reason`)."""

    name: str
    loss: Loss | None
    reason: str | None = None


@dataclass(frozen=True)
class Site:
    """Generated text that does not come back, by its cause (docs/round_trip.md lists the codes).

    `owner`: `template` if the message carries the text and the template changes it, `client` if it comes back where
    the client returns thoughts and the arguments string as it got them, `message` if no message can carry it: only the
    raw turn does.
    """

    cause: str
    what: str
    owner: Owner
    loss: Loss
    generated: str
    rendered: str


@dataclass(frozen=True)
class Report:
    """The result of `check_template`."""

    template: str
    engines: tuple[str, ...]
    probes: tuple[ProbeResult, ...]
    shapes: tuple[Shape, ...]
    sites: tuple[Site, ...]
    kept: tuple[str, ...] = ()
    """What was tried as a site and comes back unchanged."""
    notes: tuple[str, ...] = field(default=())

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for probe in self.probes for finding in probe.findings)

    @property
    def defects(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "defect")

    @property
    def ok(self) -> bool:
        """No defect."""
        return not self.defects

    def to_json(self) -> str:
        """The report as one JSON object."""
        data: dict[str, Any] = {"ok": self.ok, "defects": len(self.defects), **asdict(self)}
        return json.dumps(data, ensure_ascii=False, indent=2, default=repr)

    def to_text(self, *, examples: bool = True) -> str:
        """The report for people."""
        lines = [f"{self.template} ({', '.join(self.engines)}): {self._summary()}"]
        for probe in self.probes:
            reason = f" ({probe.reason})" if probe.reason else ""
            lines.append(f"  {probe.name}: {probe.verdict}{reason}")
            for finding in probe.findings:
                rule = f" [{finding.rule}]" if finding.rule else ""
                lines.append(f"    {finding.severity} {finding.code}{rule}: {finding.what}")
                lines.append(f"      cost: {finding.cost}")
                if examples and finding.example is not None:
                    lines += _example_lines(finding.example)
        lines.append("  prefix, canonical turns:")
        for shape in self.shapes:
            shown = f"not applicable ({shape.reason})" if shape.loss is None else _loss_text(shape.loss)
            lines.append(f"    {shape.name}: {shown}")
        if self.sites:
            lines.append("  normalisation sites (generated text that does not come back):")
            for site in self.sites:
                lines.append(f"    {site.cause}, {site.what}: {_loss_text(site.loss)}; kept by {_KEEPERS[site.owner]}")
        if self.kept:
            lines.append(f"  comes back unchanged: {', '.join(self.kept)}")
        lines += (f"  note: {note}" for note in self.notes)
        return "\n".join(lines)

    def _summary(self) -> str:
        warnings = len(self.findings) - len(self.defects)
        return f"{_count(len(self.defects), 'defect')}, {_count(warnings, 'warning')}, {_count(len(self.sites), 'site')}"


_KEEPERS: Mapping[str, str] = {
    "template": "a template that does not change it",
    "client": "a client that returns what it got",
    "message": "the raw turn only",
}


def _count(n: int, noun: str) -> str:
    return f"{n or 'no'} {noun}{'' if n == 1 else 's'}"


def _example_lines(example: Example) -> list[str]:
    options = {k: v for k, v in example.options.items() if k != "add_generation_prompt"}
    text = json.dumps(example.messages, ensure_ascii=False, default=repr)
    if len(text) > 3 * _SHOWN:
        text = f"{text[: 3 * _SHOWN]}… ({len(example.messages)} messages)"
    shown = f" with {json.dumps(options, ensure_ascii=False, default=repr)}" if options else ""
    output = example.output if len(example.output) <= _SHOWN else f"…{example.output[-_SHOWN:]}"
    return [f"      example: {text}{shown}", f"      gives: {output!r}"]


def _loss_text(loss: Loss) -> str:
    if loss.offset is None and loss.lost_tokens:
        return f"bytes agree, {loss.lost_tokens} tokens lost (the tokens differ at a seam)"
    if loss.offset is None:
        return "ok"
    tokens = "" if loss.lost_tokens is None else f", {loss.lost_tokens} tokens"
    return f"breaks at byte {loss.offset} of the turn, {loss.lost_bytes} bytes{tokens} lost ({loss.share:.0%} of the turn)"
