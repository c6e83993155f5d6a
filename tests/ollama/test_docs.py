"""The examples in the documentation and in docstrings."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from qwenparse.ollama import stream, thinking

PAGE = Path(__file__).parents[2] / "docs" / "ollama.md"


def test_the_page_tells_the_truth() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert (failed, tried > 15) == (0, True)


@pytest.mark.parametrize("module", [stream, thinking])
def test_docstrings(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert (failed, tried > 1) == (0, True)
