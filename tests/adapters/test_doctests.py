"""The examples in the docstrings of the adapters are what they do."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "ollama", "answer"])
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"qwenparse.adapters.{name}"))
    assert result.attempted and not result.failed
