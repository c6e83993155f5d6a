"""Turns in the memory of this process."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from ..replay import Keys
from .base import Candidate, Query, Record, TurnStore


class MemoryStore(TurnStore):
    """Turns of one process, gone with it. The default.

    Without `key` blobs are sealed with a random one: they never leave the process, so a turn that spells a control
    token in ordinary tokens is kept too.
    """

    def __init__(
        self,
        max_bytes: int = 256 << 20,
        *,
        ttl: float | None = None,
        key: Keys = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(max_bytes=max_bytes, ttl=ttl, key=secrets.token_bytes(32) if key is None else key, clock=clock)
        self._lock = Lock()
        self._records: OrderedDict[str, tuple[Record, float, float]] = OrderedDict()
        """Key -> (record, last use, when it was remembered), least recently used first."""
        self._index: dict[str, dict[str, None]] = {}
        """Hash of a call's id, or of a place -> keys."""
        self._bytes = 0

    @property
    def used_bytes(self) -> int:
        """What the turns take, as `max_bytes` counts it."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._records)

    def __reduce__(self) -> Any:
        raise TypeError("a MemoryStore belongs to its process")

    def _put(self, record: Record, now: float) -> None:
        with self._lock:
            if record.key in self._records:
                self._drop(record.key)
            self._records[record.key] = record, now, now
            for entry in (record.place, *record.calls):
                self._index.setdefault(entry, {})[record.key] = None
            self._bytes += record.size
            self._expire(now)
            while self._bytes > self.max_bytes:
                self._drop(next(iter(self._records)))

    def _expire(self, now: float) -> None:
        if self.ttl is not None:
            while self._records:
                key, (_, used, _) = next(iter(self._records.items()))
                if used + self.ttl > now:
                    break
                self._drop(key)

    def _drop(self, key: str) -> None:
        record, _, _ = self._records.pop(key)
        self._bytes -= record.size
        for entry in (record.place, *record.calls):
            keys = self._index[entry]
            del keys[key]
            if not keys:
                del self._index[entry]

    def _get(self, queries: Sequence[Query], now: float) -> list[tuple[list[Candidate], list[Candidate]]]:
        with self._lock:
            self._expire(now)
            return [(self._all(query.calls), self._all((query.place,))) for query in queries]

    def _all(self, entries: Sequence[str]) -> list[Candidate]:
        keys = dict.fromkeys(key for entry in entries for key in self._index.get(entry, ()))
        records = [self._records[key][0] for key in keys]
        return [Candidate(record.key, record.place, record.blob) for record in records]

    def _touch(self, keys: Sequence[str], now: float) -> None:
        with self._lock:
            for key in keys:
                if key in self._records:
                    record, _, made = self._records[key]
                    self._records[key] = record, now, made
                    self._records.move_to_end(key)

    def _purge(self, conversation: str | None, before: float | None) -> int:
        with self._lock:
            gone = [
                key
                for key, (record, _, made) in self._records.items()
                if (conversation is None or record.conversation == conversation) and (before is None or made < before)
            ]
            for key in gone:
                self._drop(key)
            return len(gone)
