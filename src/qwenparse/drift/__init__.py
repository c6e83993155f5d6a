"""Where the next prompt leaves what was generated, why, and what that costs."""

from __future__ import annotations

from .canonical import canonical
from .comparison import explain
from .report import CAUSES, Cause, Drift

__all__ = ["CAUSES", "Cause", "Drift", "canonical", "explain"]
