"""Builds `floor.pyx` on demand and measures its rows.

python -m benchmarks.floor
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .timing import cpu_ns, loop_ns

SOURCE = Path(__file__).with_name("floor.pyx")
BUILD = SOURCE.parents[1] / "build" / "floor"


def load() -> ModuleType:
    """The compiled module; made anew when its source or the interpreter is another. Needs Cython and a C compiler."""
    name = "floor"
    key = hashlib.sha256(SOURCE.read_bytes() + sys.version.encode()).hexdigest()[:16]
    where = BUILD / key
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if not (where / f"{name}{suffix}").exists():
        from Cython.Build import cythonize
        from setuptools import Distribution, Extension

        extension = Extension(name, [str(SOURCE)], extra_compile_args=[] if sys.platform == "win32" else ["-O2", "-g0"])
        built = Distribution({"ext_modules": cythonize([extension], build_dir=str(where / "c"), quiet=True)})
        command = built.get_command_obj("build_ext")
        command.build_lib, command.build_temp = str(where), str(where / "o")
        command.ensure_finalized()
        command.run()
    spec = importlib.util.spec_from_file_location(name, where / f"{name}{suffix}")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def consume(step: Callable[[Any], Any], text_event: Any, pieces: Sequence[Any]) -> list[str]:
    """What a server does with events at the least: look at the class, take the text."""
    out: list[str] = []
    append = out.append
    for piece in pieces:
        for event in step(piece):
            if type(event) is text_event:
                append(event.text)
    return out


def rows(pieces: Sequence[str], rounds: int = 9) -> dict[str, float]:
    """Row -> CPU nanoseconds per piece, the bare loop taken off."""
    module = load()
    floor = module.Floor()
    loop = loop_ns([pieces], rounds)

    def dropped(step: Callable[[Any], Any]) -> float:
        def work() -> None:
            for piece in pieces:
                step(piece)

        return (cpu_ns(work, rounds) - loop) / len(pieces)

    found = {name: dropped(getattr(floor, name)) for name in ("nothing", "shared", "event", "listed")}
    consumed = cpu_ns(lambda: consume(floor.listed, module.TextEvent, pieces), rounds) - loop
    return {**found, "listed, consumed": consumed / len(pieces)}


def main() -> int:
    from .corpus import corpus

    words = [word for turn in corpus(200) for word in turn.text.split(" ")]
    for name, ns in rows(words).items():
        print(f"{name:20} {ns:6.1f} ns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
