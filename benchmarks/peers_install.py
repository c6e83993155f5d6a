"""Makes a virtual environment that holds this package and every peer of the table.

    python -m benchmarks.peers_install DIR [-v]

Each peer is installed on its own, so that one that fails leaves the others. What could not be installed is listed;
the table lists it again as missing. Python >= 3.11 (transformers 5 and renderers ask for it); about 430 MB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("build tools", ("setuptools>=77", "cython>=3.3,<3.4", "tokenizers>=0.20")),
    ("qwenparse", ("--no-build-isolation", "-e", str(ROOT))),
    ("mlx-lm", ("mlx[cpu]" if sys.platform == "linux" else "mlx", "mlx-lm==0.32.2")),
    ("transformers", ("transformers==5.24.0",)),
    ("renderers", ("renderers==0.1.12", "httpx")),
    # Its own requirements pin another transformers and need xgrammar; these are what its Qwen files import.
    ("llm-router-utils: what it needs", ("pydantic", "partial-json-parser", "orjson", "openai", "msgspec")),
    ("llm-router-utils", ("--no-deps", "llm-router-utils==0.8.1")),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers_install", description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("-v", action="store_true", help="show pip's output")
    options = parser.parse_args(arguments)
    venv.create(options.dir, with_pip=True)
    python = options.dir.resolve() / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    failed = []
    for name, packages in STEPS:
        command = [str(python), "-m", "pip", "install", *([] if options.v else ["-q"]), *packages]
        done = subprocess.run(command, capture_output=not options.v, text=True)
        print(f"{'installed' if done.returncode == 0 else 'FAILED'}  {name}", flush=True)
        if done.returncode:
            failed.append(name)
            print("\n".join((done.stderr or "").splitlines()[-3:]))
    print(f"\n{python} -m benchmarks.peers_table")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
