"""What the parser reads, in the shapes of APIs and hosts. Import the module you need; none imports a client library.

`openai`, `responses`, `anthropic`, `ollama` make plain dicts. `vllm`, `sglang`, `mlx_lm` are the parser interfaces of
these programs and import them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

_MODULES = frozenset({"anthropic", "mlx_lm", "ollama", "openai", "responses", "sglang", "vllm"})


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
