"""Timing on a shared machine: CPU time of this thread, the least of several rounds, garbage collector off."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any


def cpu_ns(work: Callable[[], Any], rounds: int = 5) -> int:
    """The least CPU time in nanoseconds that one call of `work` took in so many rounds."""
    enabled = gc.isenabled()
    best = 1 << 62
    gc.collect()  # once: between rounds it would empty the caches of the processor
    gc.disable()
    try:
        for _ in range(rounds):
            start = time.thread_time_ns()
            work()
            best = min(best, time.thread_time_ns() - start)
    finally:
        if enabled:
            gc.enable()
    return best


def loop_ns(pieces: Sequence[Sequence[Any]], rounds: int = 5) -> int:
    """What the bare `for` loops over these pieces cost: to be taken off."""

    def bare() -> None:
        for turn in pieces:
            for _ in turn:
                pass

    return cpu_ns(bare, rounds)
