"""One module a target: `one(data)` raises if its invariant fails. The modules' names are the targets' names.

`NATIVE` says whether the core must be instrumented, `BYTECODE` which Python modules are, `MIN_EDGES` how many edges a
short campaign from the seeds must cover.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

NAMES: tuple[str, ...] = tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def load(name: str) -> ModuleType:
    """The module of a target."""
    if name not in NAMES:
        raise SystemExit(f"no target {name!r}; the targets are {', '.join(NAMES)}")
    return importlib.import_module(f"{__name__}.{name}")


class Facts(NamedTuple):
    """What a target's module says of itself."""

    native: bool
    min_edges: int
    bytecode: tuple[str, ...]


def facts(name: str) -> Facts:
    """The facts of a target, read from its source: they are needed before it may be imported."""
    source = ast.parse((Path(__path__[0]) / f"{name}.py").read_text(encoding="utf-8"))
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in source.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("NATIVE", "MIN_EDGES", "BYTECODE")
    }
    return Facts(values["NATIVE"], values["MIN_EDGES"], values.get("BYTECODE", ()))
