"""Chat templates: native renderers for the published ones, and a Jinja path for any other.

Native renderers are exact, byte for byte, for JSON-shaped input (docs/templates.md). They know no parser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import FormatError
from .base import Renderer
from .engines import Engine
from .qwen3 import Qwen3, Qwen3April, Qwen3Instruct
from .qwen3_coder import Qwen3Coder, Qwen3CoderLlamaCpp
from .qwen3_vl import Qwen3VL
from .qwen35 import Qwen35, Qwen35Small, Qwen36, Qwen36Unsloth, Qwen38
from .robust import Robust

if TYPE_CHECKING:
    from pathlib import Path

RENDERERS: Mapping[str, Callable[[Engine, Mapping[str, Any]], Renderer]] = {
    "qwen3": Qwen3,
    "qwen3-2504": Qwen3April,
    "qwen3-instruct-2507": Qwen3Instruct,
    "qwen3-vl": Qwen3VL,
    "qwen3-coder": Qwen3Coder,
    "qwen3-coder-llamacpp": Qwen3CoderLlamaCpp,
    "qwen3.5": Qwen35,
    "qwen3.5-small": Qwen35Small,
    "qwen3.6": Qwen36,
    "qwen3.6-unsloth": Qwen36Unsloth,
    "qwen3.8": Qwen38,
    "robust": Robust,
}
"""Native renderers by name: (engine, template arguments) -> renderer. `render_prompt(robust=True)` takes the one named
`robust`, whatever the format."""


SHIPPED = ("robust.jinja", "splice.jinja")
"""The template files that come with the package: for servers that load a chat template, with no package needed."""


def shipped_template(name: str) -> Path:
    """The path of a shipped template file, to copy or to pass on. Raises `FormatError` for any other name."""
    if name not in SHIPPED:
        raise FormatError(f"{name!r} is no template file of this package; they are {', '.join(SHIPPED)}")
    from pathlib import Path

    return Path(__file__).parent / name


def get_renderer(name: str, engine: Engine, options: Mapping[str, Any]) -> Renderer:
    """The native renderer of that name. Raises `FormatError` where there is none."""
    try:
        make = RENDERERS[name]
    except KeyError:
        raise FormatError(
            f"{name!r} has no native renderer (template= renders any template); the renderers are {', '.join(RENDERERS)}"
        ) from None
    return make(engine, options)
