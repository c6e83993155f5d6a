"""What is kept of a turn so that it can be written again exactly: digests, the chain of a history, blobs."""

from __future__ import annotations

from .blob import Keys, dump_turn, keys_of, load_turn, sampled_ids
from .chain import History, Place
from .digest import digest, reasoning_digest, turn_digests

__all__ = [
    "History", "Keys", "Place", "digest", "dump_turn", "keys_of", "load_turn", "reasoning_digest", "sampled_ids",
    "turn_digests",
]  # fmt: skip
