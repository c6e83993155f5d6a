"""The benchmarks' corpus and adapters are tested too; they are a package in the repository's root."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)
