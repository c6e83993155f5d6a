"""docs/templates.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import template_matrix

from qwenparse.lint.engines import CONSTRUCTS
from qwenparse.templates import RENDERERS
from qwenparse.templates.robust import DEFAULTS

LINT = Path(template_matrix.ROOT) / "src" / "qwenparse" / "lint"
TEXT = template_matrix.DOCS.read_text(encoding="utf-8")


def test_the_matrix_is_that_of_live_renders() -> None:
    assert template_matrix.written(TEXT) == template_matrix.matrix(), "python tests/template_matrix.py"


def test_every_code_is_documented() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in LINT.glob("*.py"))
    codes = set(re.findall(r'defect\(\s*t, f?"([a-z-]+)"', source)) | {f"construct-{name}" for name in CONSTRUCTS}
    codes |= set(re.findall(r'^ +"([a-z]+-[a-z-]+)": "', source, re.MULTILINE)) - set(CONSTRUCTS)
    assert len(codes) > 40
    missing = {code for code in codes if f"`{code}`" not in TEXT}
    assert missing == set()


def test_every_renderer_and_option_is_documented() -> None:
    for name in (*RENDERERS, *DEFAULTS):
        assert f"`{name}`" in TEXT or f"`{name.removeprefix('qwen')}`" in TEXT or name == "robust", name


def test_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})
