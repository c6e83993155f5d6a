"""Turns in a file, for one machine whose servers restart."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from threading import Lock
from typing import Any

from ..replay import Keys
from .base import Candidate, Query, Record, TurnStore

_VERSION = 1
_SCHEMA = """
CREATE TABLE turn (
    key TEXT PRIMARY KEY, conversation TEXT NOT NULL, place TEXT NOT NULL, blob BLOB NOT NULL,
    size INTEGER NOT NULL, used REAL NOT NULL, made REAL NOT NULL
);
CREATE INDEX turn_used ON turn (used);
CREATE INDEX turn_conversation ON turn (conversation);
CREATE TABLE entry (hash TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (hash, key)) WITHOUT ROWID;
CREATE INDEX entry_key ON entry (key);
CREATE TABLE total (bytes INTEGER NOT NULL);
INSERT INTO total VALUES (0);
"""


class SQLiteStore(TurnStore):
    """Turns in an SQLite file; several processes may use it at once.

    `path`: the file, made if it is missing (with the rights of its owner only). `timeout`: seconds to wait for another
    process. Raises `sqlite3.Error` where the file is none of ours or cannot be used; a file of a later version is
    refused.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        max_bytes: int = 1 << 30,
        *,
        ttl: float | None = None,
        key: Keys = None,
        clock: Callable[[], float] = time.time,
        timeout: float = 30.0,
    ) -> None:
        super().__init__(max_bytes=max_bytes, ttl=ttl, key=key, clock=clock)
        self._path = os.fspath(path)
        self._timeout = timeout
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        with self._lock:
            self._connected()

    def _connected(self) -> sqlite3.Connection:
        """The connection of this process; one that came over a fork is left alone."""
        if self._connection is None or self._process != os.getpid():
            if self._path != ":memory:" and not os.path.exists(self._path):
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            db = sqlite3.connect(self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=NORMAL")
                db.execute("PRAGMA secure_delete=ON")
                self._prepare(db)
            except BaseException:
                db.close()
                raise
            self._connection, self._process = db, os.getpid()
        return self._connection

    def _prepare(self, db: sqlite3.Connection) -> None:
        with _Transaction(db):
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _SCHEMA.split(";\n"):
                    if statement.strip():
                        db.execute(statement)
                db.execute(f"PRAGMA user_version={_VERSION}")
            elif version != _VERSION:
                raise sqlite3.DatabaseError(f"{self._path} is of version {version}, not {_VERSION}")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @property
    def used_bytes(self) -> int:
        """What the turns take, as `max_bytes` counts it."""
        with self._lock:
            return int(self._connected().execute("SELECT bytes FROM total").fetchone()[0])

    def __len__(self) -> int:
        with self._lock:
            return int(self._connected().execute("SELECT count(*) FROM turn").fetchone()[0])

    def __reduce__(self) -> Any:
        raise TypeError("a SQLiteStore belongs to its process; open the file again")

    def _put(self, record: Record, now: float) -> None:
        with self._lock, _Transaction(self._connected()) as db:
            self._drop(db, [record.key])
            db.execute(
                "INSERT INTO turn VALUES (?, ?, ?, ?, ?, ?, ?)",
                (record.key, record.conversation, record.place, record.blob, record.size, now, now),
            )
            entries = dict.fromkeys((record.place, *record.calls))
            db.executemany("INSERT INTO entry VALUES (?, ?)", [(entry, record.key) for entry in entries])
            db.execute("UPDATE total SET bytes = bytes + ?", (record.size,))
            if self.ttl is not None:
                self._drop(db, _keys(db.execute("SELECT key FROM turn WHERE used <= ?", (now - self.ttl,))))
            while db.execute("SELECT bytes FROM total").fetchone()[0] > self.max_bytes:
                self._drop(db, _keys(db.execute("SELECT key FROM turn ORDER BY used, rowid LIMIT 1")))

    def _drop(self, db: sqlite3.Connection, keys: Iterable[str]) -> int:
        count = 0
        for key in keys:
            row = db.execute("SELECT size FROM turn WHERE key = ?", (key,)).fetchone()
            if row is not None:
                db.execute("DELETE FROM turn WHERE key = ?", (key,))
                db.execute("DELETE FROM entry WHERE key = ?", (key,))
                db.execute("UPDATE total SET bytes = bytes - ?", (row[0],))
                count += 1
        return count

    def _get(self, queries: Sequence[Query], now: float) -> list[tuple[list[Candidate], list[Candidate]]]:
        with self._lock, _Transaction(self._connected(), "DEFERRED") as db:
            return [(self._all(db, query.calls, now), self._all(db, (query.place,), now)) for query in queries]

    def _all(self, db: sqlite3.Connection, entries: Sequence[str], now: float) -> list[Candidate]:
        found: dict[str, Candidate] = {}
        oldest = -1e300 if self.ttl is None else now - self.ttl
        for entry in entries:
            rows = db.execute(
                "SELECT turn.key, place, blob FROM entry JOIN turn USING (key) WHERE hash = ? AND used > ?",
                (entry, oldest),
            )
            with closing(rows):
                found.update((key, Candidate(key, place, blob)) for key, place, blob in rows)
        return list(found.values())

    def _touch(self, keys: Sequence[str], now: float) -> None:
        with self._lock, _Transaction(self._connected()) as db:
            db.executemany("UPDATE turn SET used = ? WHERE key = ?", [(now, key) for key in keys])

    def _purge(self, conversation: str | None, before: float | None) -> int:
        with self._lock, _Transaction(self._connected()) as db:
            rows = db.execute(
                "SELECT key FROM turn WHERE (?1 IS NULL OR conversation = ?1) AND (?2 IS NULL OR made < ?2)",
                (conversation, before),
            )
            return self._drop(db, _keys(rows))


def _keys(rows: Iterable[tuple[str]]) -> list[str]:
    return [key for (key,) in rows]


class _Transaction:
    def __init__(self, db: sqlite3.Connection, kind: str = "IMMEDIATE") -> None:
        self.db = db
        self.kind = kind

    def __enter__(self) -> sqlite3.Connection:
        self.db.execute(f"BEGIN {self.kind}")
        return self.db

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.db.execute("COMMIT" if kind is None else "ROLLBACK")
