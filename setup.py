"""Builds the two extension modules: what is reported, and the machine. Everything else is in pyproject.toml.

Switches (environment): QWENPARSE_SANITIZE=fuzzer,address,undefined · QWENPARSE_COVERAGE=1 · QWENPARSE_DEBUG=1.
"""

import os
import sys
from glob import glob

from setuptools import Extension, setup

if sys.implementation.name != "cpython":
    sys.exit("qwenparse: the core is a CPython extension; this interpreter is " + sys.implementation.name)

sanitize = [s for s in os.environ.get("QWENPARSE_SANITIZE", "").split(",") if s]
coverage = bool(os.environ.get("QWENPARSE_COVERAGE"))
debug = bool(os.environ.get("QWENPARSE_DEBUG"))

compile_args = ["-O1" if set(sanitize) - {"fuzzer"} else "-O2", "-g", "-fno-omit-frame-pointer"] if sanitize else ["-O2", "-g0"]
if sys.platform == "win32":
    compile_args = ["/O2"]
flags = {
    "fuzzer": ["-fsanitize=fuzzer-no-link", "-fno-sanitize-coverage=stack-depth"],
    "address": ["-fsanitize=address"],
    "undefined": ["-fsanitize=undefined", "-fno-sanitize-recover=undefined"],
}
unknown = sorted(set(sanitize) - set(flags))
if unknown:
    sys.exit(f"qwenparse: QWENPARSE_SANITIZE does not know {', '.join(unknown)}; it takes {', '.join(flags)}")
for name in sanitize:
    compile_args += flags[name]

extensions = [
    Extension(
        f"qwenparse.{name}",
        [f"src/qwenparse/{name}.pyx"],
        depends=sorted(headers),
        define_macros=[("CYTHON_TRACE_NOGIL", "1")] if coverage else [],
        extra_compile_args=compile_args,
        extra_link_args=[f for switch in sanitize for f in flags[switch] if "coverage" not in f],
    )
    for name, headers in (
        ("_events", ["src/qwenparse/_events.pxd"]),
        ("_core", glob("src/qwenparse/*.pxd") + glob("src/qwenparse/machine/*.pxi")),
    )
]
for extension in extensions:
    # Read by the build_ext that setuptools takes from Cython. "src" is where the .pxd files are found.
    extension.cython_directives = {"linetrace": coverage, "boundscheck": debug, "wraparound": False}
    extension.cython_include_dirs = ["src"]
setup(ext_modules=extensions)
