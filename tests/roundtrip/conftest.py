"""A Redis server of the tests' own, and the three stores."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from qwenparse.store import MemoryStore, RedisStore, SQLiteStore, TurnStore


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = shutil.which("redis-server") or shutil.which("valkey-server")
    assert server is not None, "these tests start a redis-server (Debian: apt-get install redis-server)"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            raise AssertionError("redis-server did not answer")
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()


class Clock:
    """Time that the test moves."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Make = Callable[..., TurnStore]


@pytest.fixture(params=["memory", "sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Make]:
    """Makes a store of each kind; two calls with one `name` open the same data (but in memory)."""
    made: list[TurnStore] = []

    def new(name: str = "one", **settings: Any) -> TurnStore:
        settings.setdefault("clock", clock)
        store: TurnStore
        if request.param == "memory":
            store = MemoryStore(**settings)
        elif request.param == "sqlite":
            store = SQLiteStore(tmp_path / f"{name}.db", **settings)
        else:
            prefix = f"{tmp_path.name}-{name}"
            store = RedisStore(request.getfixturevalue("redis_url"), prefix=prefix, **settings)
        made.append(store)
        return store

    yield new
    for store in made:
        store.close()
