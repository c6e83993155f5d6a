"""Benchmarks: run from the repository's root, as `python -m benchmarks.NAME`."""

import sys
from pathlib import Path

# The real vocabularies are found by tests/real_tokenizers.py.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
