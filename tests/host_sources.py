"""Sources of hosts that are too heavy to install: read from their published wheels, run with stubs for the rest.

A wheel is downloaded once by pip, without dependencies; only the Python files asked for are kept, in the cache
directory of the package. `loaded` imports modules of it: those listed run as published, every other module of the host,
and every library that is not installed, is a stub whose names are empty classes.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from qwenparse.tokens.table import default_cache_dir


def source(name: str, version: str, prefixes: Sequence[str]) -> Path:
    """The directory that holds the published files below `prefixes`, as they lie in the wheel."""
    place = default_cache_dir() / "hosts" / f"{name}-{version}"
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as draft:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir"]
        # One wheel for every machine: only its text is read.
        command += ["--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp"]
        command += [part for abi in ("cp311", "abi3", "none") for part in ("--abi", abi)]
        command += [part for tag in ("2_34", "2_28") for part in ("--platform", f"manylinux_{tag}_x86_64")]
        subprocess.run([*command, "-d", draft, f"{name}=={version}"], check=True)
        (wheel,) = Path(draft).glob("*.whl")
        unpacked = Path(draft) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                if member.endswith(".py") and member.startswith(tuple(prefixes)):
                    archive.extract(member, unpacked)
        shutil.rmtree(place, ignore_errors=True)
        os.replace(unpacked, place)
    return place


class _Stub(ModuleType):
    """Any name in it is an empty class, or what `given` says."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__dict__.update(given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, root: Path, package: str, real: Iterable[str], given: Mapping[str, Mapping[str, Any]]) -> None:
        self.root = root
        self.package = package
        self.real = frozenset(real)
        self.given = given

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        top = name.partition(".")[0]
        if top != self.package and top not in self.given:
            return None
        if name in self.real:
            file = self.root.joinpath(*name.split("."))
            package = file.is_dir()
            location = file / "__init__.py" if package else file.with_suffix(".py")
            return importlib.util.spec_from_file_location(
                name, location, submodule_search_locations=[str(file)] if package else None
            )
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Stub(spec.name, self.given.get(spec.name, {}))

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def loaded(
    root: Path, package: str, real: Sequence[str], given: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, ModuleType]]:
    """The modules `real` of `package`, by name. Behind it neither they nor the stubs are importable any more."""
    finder = _Finder(root, package, real, given)
    tops = {package, *(name.partition(".")[0] for name in given)}
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in tops}
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield {name: importlib.import_module(name) for name in real}
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
            del sys.modules[name]
        sys.modules.update(before)


class Logger(logging.Logger):
    """With the methods that hosts add."""

    def warning_once(self, *args: Any, **kwargs: Any) -> None:
        pass

    info_once = debug_once = warning_once


def silent_logger(name: str) -> logging.Logger:
    logger = Logger(name)
    logger.addHandler(logging.NullHandler())
    return logger
