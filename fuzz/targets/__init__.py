"""One module a target: `one(data)` raises if its invariant fails, `NATIVE` says whether the core must be instrumented.

The names of the modules are the names of the targets. `MIN_EDGES` is what a short campaign from the seeds must cover.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

NAMES: tuple[str, ...] = tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def load(name: str) -> ModuleType:
    """The module of a target."""
    if name not in NAMES:
        raise SystemExit(f"no target {name!r}; the targets are {', '.join(NAMES)}")
    return importlib.import_module(f"{__name__}.{name}")


def load_facts(name: str) -> tuple[bool, int]:
    """`NATIVE` and `MIN_EDGES` of a target, read from its source: the runner cannot import an instrumented core."""
    source = ast.parse((Path(__path__[0]) / f"{name}.py").read_text(encoding="utf-8"))
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in source.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()
        and isinstance(node.value, ast.Constant)
    }  # fmt: skip
    return values["NATIVE"], values["MIN_EDGES"]
