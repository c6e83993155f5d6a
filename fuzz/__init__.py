"""Fuzzers of qwenparse; docs/fuzzing.md says how to run them. Not installed with the package."""

import sys
from pathlib import Path

# The executable specification and the reader of the case files live with the tests.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
