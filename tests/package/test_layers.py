"""The direction of imports is the architecture; the core stands alone."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import qwenparse

ROOT = Path(qwenparse.__file__).parent

# Each room may import the rooms that are named here, and itself. They stand in the order of docs/architecture.md.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "formats": {"errors"},
    "utf8": set(),
    "common": set(),
    "_events": set(),
    "_core": {"errors", "formats", "_events"},
    "schema": {"errors"},
    "values": {"schema", "_events"},
    "turn": {"_core", "_events", "formats", "schema", "values", "utf8", "replay"},
    "start": {"formats"},
    "tokens": {"errors", "formats", "utf8"},
    "templates": {"errors", "formats", "start"},
    "encode": {"errors", "tokens", "templates"},
    "replay": {"errors", "formats", "_core", "_events", "schema", "turn", "values", "utf8"},
    "store": {"errors", "formats", "replay", "turn"},
    "splice": {"errors", "formats", "replay", "store", "templates", "turn"},
    "follow": {"common", "errors", "encode", "replay", "splice", "templates", "tokens", "turn", "utf8"},
    "prompt": {"errors", "formats", "templates", "encode", "follow", "tokens", "turn", "replay", "splice", "store"},
    "ollama": {"common", "errors", "formats", "_events", "templates"},
    "drift": {
        "_core", "common", "errors", "formats", "ollama", "prompt", "replay", "schema", "splice", "templates", "tokens", "turn",
        "utf8", "values",
    },
    "lint": {"common", "errors", "formats", "encode", "prompt", "start", "templates", "tokens"},
    "adapters": {"errors", "formats", "_core", "_events", "schema", "values", "turn", "utf8", "start", "tokens", "ollama"},
    "_grammar": set(),
    "testing": {"_core", "_events", "_grammar", "formats", "turn", "utf8", "values"},
}
APPLICATIONS = {"cli", "server", "bulk"}
EXTRAS = {
    "tokenizers", "jinja2", "minijinja", "redis", "starlette", "uvicorn", "mlx", "mlx_lm", "rich", "pyarrow", "ray",
    "vllm", "sglang", "transformers", "numpy", "torch", "tiktoken",
}  # fmt: skip


CORE = (ROOT / "_core.pyx").read_text("utf-8")
MACHINE = [ROOT / name for name in re.findall(r'^include "(.+)"$', CORE, re.M)]


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[tuple[str, bool]]:
    """(module, at the top level of the file) of every import; of relative ones the room."""
    found: set[tuple[str, bool]] = set()
    tree = ast.parse(path.read_text("utf-8"))
    depth = len(path.relative_to(ROOT).parts)

    def visit(node: ast.AST, top: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Import):
                found.update((alias.name, top) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                if not child.level:
                    found.add((child.module or "", top))
                elif child.level == depth:
                    names = [child.module.split(".")[0]] if child.module else [a.name for a in child.names]
                    found.update((f".{name}", top) for name in names)
            visit(child, top and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    visit(tree, True)
    return found


FILES = [p for p in ROOT.rglob("*.py") if p.name not in ("__init__.py", "__main__.py") or p.parent != ROOT]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    room = room_of(path)
    for name, _ in imports(path):
        if name.startswith("."):
            other = name[1:]
            if room in APPLICATIONS:
                assert other != "bulk" or room == "cli"
            else:
                assert other in ALLOWED[room] | {room}, f"{room} imports {other}"
            assert other not in APPLICATIONS or room in APPLICATIONS, f"{room} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_extras_are_imported_where_they_are_used(path: Path) -> None:
    for name, top in imports(path):
        if name.split(".")[0] in EXTRAS:
            # A host plugin is a module that its host imports.
            assert not top or path.stem == name.split(".")[0], f"{name} at the top of {path.name}"


def test_import_is_light() -> None:
    """A server that only parses loads no third-party module, and nothing of prompts, stores or adapters."""
    heavy = {f"qwenparse.{room}" for room in ("adapters", "cli", "ollama", "prompt", "replay", "templates", "testing")}
    code = (
        "import sys, qwenparse; loaded = set(sys.modules);"
        f"print(sorted(({EXTRAS!r} | {heavy!r}) & loaded)); assert qwenparse.render_prompt and qwenparse.ollama.Parser"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[]"


def test_modules_stay_small() -> None:
    for path in (*FILES, ROOT / "_core.pyx", *MACHINE):
        lines = path.read_text("utf-8").count("\n")
        assert lines <= 600, f"{path.name} has {lines} lines"


def test_rooms_stand_in_order() -> None:
    rooms = list(ALLOWED)
    back = {(a, b) for a, others in ALLOWED.items() for b in others if rooms.index(b) > rooms.index(a)}
    assert back == {("turn", "replay")}  # a Turn's methods for records, when they are called


def test_the_core_stands_alone() -> None:
    own = re.findall(r"^from (?:qwenparse)?\.(\w+) c?import ", CORE, re.M)
    names = re.findall(r"^from \. import (.+)$", CORE, re.M)
    assert {*own, *", ".join(names).split(", ")} - {"_json", "_scan"} == ALLOWED["_core"]
    for path in MACHINE:
        assert not re.search(r"^\s*(from \S+ c?import|c?import) ", path.read_text("utf-8"), re.M), path.name


def test_the_machine_is_a_chain() -> None:
    """Each file adds one class to the one before it, so that nothing reaches what comes later; no file is left out."""
    assert sorted(MACHINE) == sorted((ROOT / "machine").glob("*.pxi"))
    classes = [
        (found[1], found[2])
        for path in MACHINE
        for found in re.finditer(r"^cdef class (\w+)(?:\((\w+)\))?:$", path.read_text("utf-8"), re.M)
        if found[1] != "_Table"
    ]
    assert classes[0] == ("_State", None)
    assert [base for _, base in classes[1:]] == [name for name, _ in classes[:-1]]
    before = ""
    for path in MACHINE:
        text = path.read_text("utf-8")
        words = set(re.findall(r"\b[A-Z]\w*_\w+", "".join(re.findall(r"^cdef enum:\n(?:    .*\n)+", text, re.M))))
        assert not words & set(re.findall(r"\w+", before)), path.name
        before += text


def test_deciding_changes_nothing() -> None:
    """It stands below the reports, and sets no field."""
    names = [path.stem for path in MACHINE]
    assert names.index("decide") < names.index("reports")
    assert not re.search(r"self\.[\w.]+ [-+|&]?= ", (ROOT / "machine" / "decide.pxi").read_text("utf-8"))
