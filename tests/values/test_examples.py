"""The examples in the docstrings."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("module", ["schema", "values.calls", "values.json_text", "values.literals", "values.stream"])
def test_examples(module):
    failed, attempted = doctest.testmod(import_module(f"qwenparse.{module}"))
    assert attempted and not failed
