"""What is kept of a turn so that it can be written again exactly: digests, the chain of a history, blobs."""

from __future__ import annotations

from .blob import Keys, dump_turn, load_turn
from .chain import History
from .digest import digest, reasoning_digest, turn_digests

__all__ = ["History", "Keys", "digest", "dump_turn", "load_turn", "reasoning_digest", "turn_digests"]
