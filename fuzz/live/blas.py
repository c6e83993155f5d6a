"""A fast BLAS for MLX on Linux.

The mlx-cpu wheel bundles the slow reference BLAS (6 GFLOP/s for a 1024^3 float32 product on the machine measured,
190 with OpenBLAS). `libmlx` only needs `cblas_*`, so a library loaded before it with global symbols takes its place.
Import this module before anything of `mlx`.
"""

from __future__ import annotations

import ctypes
import sys


def preload() -> bool:
    """Make OpenBLAS the BLAS of a later `import mlx.core`. False if it is not installed (MLX then works, slowly)."""
    if sys.platform != "linux":
        return False
    try:
        ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


FAST = preload()
"""Whether OpenBLAS was found."""
