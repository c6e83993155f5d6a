"""Many turns at once: each replayed, compared, and counted by cause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .report import CAUSES, MEANING, Cause, Drift


@dataclass(frozen=True)
class Case:
    """One comparison: both texts (None where only ids were known) and what came out."""

    name: str
    before: str | None
    after: str | None
    start: int | None
    """Where the turn begins in `before`, in code points."""
    drift: Drift
    size: int | None = None
    """Tokens of prompt and turn, where they were counted; else their bytes."""


@dataclass
class Count:
    """The cases of one cause."""

    cause: Cause
    cases: int = 0
    lost_tokens: int = 0
    share: float = 0.0
    """Sum of the shares of the turns that were lost."""
    counted: int = 0
    """Cases whose share is known."""
    later: int = 0
    """Turns in which the cause stood behind another one."""

    @property
    def mean_share(self) -> float | None:
        return self.share / self.counted if self.counted else None


@dataclass
class Summary:
    """The causes of a corpus."""

    counts: dict[str, Count] = field(default_factory=dict)
    cases: int = 0

    @classmethod
    def of(cls, cases: Iterable[Case]) -> Summary:
        self = cls()
        for case in cases:
            self.cases += 1
            count = self._count(case.drift.cause)
            count.cases += 1
            count.lost_tokens += case.drift.lost_tokens or 0
            if case.drift.lost_share is not None:
                count.share += case.drift.lost_share
                count.counted += 1
            for cause in dict.fromkeys(case.drift.later):
                self._count(cause).later += 1
        return self

    def _count(self, cause: Cause) -> Count:
        return self.counts.setdefault(cause, Count(cause))

    @property
    def kept(self) -> int:
        """Turns that came back unchanged."""
        return self.counts["none"].cases if "none" in self.counts else 0

    def rows(self) -> list[Count]:
        """The causes that were found, the most frequent first."""
        found = (count for cause, count in self.counts.items() if cause != "none")
        return sorted(found, key=lambda count: (-count.cases, -count.later, CAUSES.index(count.cause)))

    def table(self) -> str:
        """The causes as text."""
        lines = [f"{self.kept} of {self.cases} turns came back unchanged."]
        if self.rows():
            lines.append(f"{'cause':<24}{'first':>6}{'later':>7}{'lost tokens':>13}{'share':>7}  meaning")
        for count in self.rows():
            share = "" if count.mean_share is None else f"{count.mean_share:.0%}"
            lost = f"{count.lost_tokens:,}" if count.counted else ""
            lines.append(
                f"{count.cause:<24}{count.cases:>6}{count.later:>7}{lost:>13}{share:>7}  {MEANING[count.cause]}"
            )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain JSON types."""
        return {
            "cases": self.cases,
            "unchanged": self.kept,
            "causes": [
                {"cause": c.cause, "first": c.cases, "later": c.later, "lost_tokens": c.lost_tokens, "share": c.mean_share}
                for c in self.rows()
            ],
        }
