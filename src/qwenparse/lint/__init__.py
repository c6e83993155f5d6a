"""Checks of chat templates: prefix stability, the defects known from templates in use, agreement of engines.

Needs Jinja2 (extra `templates`) for files; compares with MiniJinja where that is installed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import probes_options, probes_text  # noqa: F401  (they register the probes)
from .engines import check_engines
from .registry import PROBES, run_probe
from .report import Example, Finding, Loss, ProbeResult, Report, Shape, Site
from .shapes import Encode, check_shapes
from .sites import check_sites
from .target import Target

__all__ = ["Example", "Finding", "Loss", "ProbeResult", "Report", "Shape", "Site", "check_template"]


def check_template(
    template: str | os.PathLike[str], *, options: Mapping[str, Any] | None = None, encode: Encode | None = None
) -> Report:
    """Checks a template: a file, a native renderer by name, `robust.jinja` or `splice.jinja`.

    `options` go to every render (`{"tool_call_format": "json"}`). `encode` turns text into token ids, with added
    tokens recognised; with it losses are counted in tokens too. Raises `FormatError` for what is neither a file nor a
    name, `TemplateError` for a file that is no template, `ImportError` without Jinja2 where it is needed.
    """
    target = Target(template, options)
    probes = [run_probe(probe, target) for probe in PROBES]
    shapes = check_shapes(target, encode)
    sites, kept = check_sites(target, encode)
    probes.append(check_prefix(shapes))
    engines = check_engines(target)
    probes.append(engines)
    names = (target.engine,) if engines.reason else (target.engine, "minijinja")
    notes = ("the template writes a message's `raw` field as it is",) if target.splices else ()
    return Report(target.name, names, tuple(probes), shapes, sites, kept, notes)


def check_prefix(shapes: tuple[Shape, ...]) -> ProbeResult:
    """Canonical turns that do not come back are a defect: a template could keep them."""
    broken = [shape for shape in shapes if shape.loss is not None and shape.loss.offset is not None]
    if not any(shape.loss is not None for shape in shapes):
        return ProbeResult("prefix", "not applicable", reason="no conversation could be rendered")
    if not broken:
        return ProbeResult("prefix", "ok")
    losses = [shape.loss for shape in broken if shape.loss is not None]
    tokens = [loss.lost_tokens for loss in losses if loss.lost_tokens is not None]
    worst = max(loss.lost_bytes for loss in losses)
    cost = f"up to {worst} bytes{f', {max(tokens)} tokens' if tokens else ''} of one turn are read again at every step"
    what = f"a canonical turn does not come back in {len(broken)} conversations: {', '.join(s.name for s in broken)}"
    return ProbeResult("prefix", "defect", (Finding("prefix-unstable", what, cost, "defect", "R5"),))
