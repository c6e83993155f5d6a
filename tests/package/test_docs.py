"""What the documents say is true: doctests run, commands exist, examples run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import qwenparse
from qwenparse import cli
from qwenparse.formats import FORMATS, ISSUE_CODES, KINDS, POLICY_VALUES

ROOT = Path(__file__).parents[2]
MODULES = [
    m.name
    for m in pkgutil.walk_packages(qwenparse.__path__, "qwenparse.")
    if not m.name.endswith("__main__") and ".adapters." not in m.name and ".server" not in m.name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_readme_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_format_document_names_everything() -> None:
    text = (ROOT / "docs" / "format.md").read_text("utf-8")
    for name in (*FORMATS, *ISSUE_CODES, *KINDS, *POLICY_VALUES):
        assert f"`{name}`" in text, name


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in cli.COMMANDS:
        with pytest.raises(SystemExit) as stop:
            cli.main([command.replace("_", "-"), "--help"])
        assert stop.value.code == 0 and command.replace("_", "-") in capsys.readouterr().out


def test_links_in_documents() -> None:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", path.read_text("utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_no_machine_paths() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]:
        assert not re.search(r"(^|[^\w.])/(work|root|farm)/", path.read_text("utf-8")), path
