"""Turns in Redis or Valkey, for several replicas (extra `store`).

Every change is one Lua script, so that replicas never see half of one. Keys, behind the prefix: `turn:KEY` (a hash: the
record; the server lets it expire), `entry:HASH` (a set: the keys found by a call's id or a place), `talk:HASH` (a set:
the keys of a conversation), `used` and `made` (sorted sets: key by time), `entries`, `talks` and `size` (hashes: what
belongs to a key), `bytes` (the sum of the sizes). The prefix stands in braces, so that a cluster keeps them together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..replay import Keys
from .base import Candidate, Query, Record, TurnStore

if TYPE_CHECKING:
    import redis

_DROP = """
local p = KEYS[1]
local function drop(key)
  local name = p .. 'turn:' .. key
  local entries = redis.call('HGET', p .. 'entries', key)
  local talk = redis.call('HGET', p .. 'talks', key)
  if entries then
    for hash in string.gmatch(entries, '%S+') do redis.call('SREM', p .. 'entry:' .. hash, key) end
  end
  if talk then redis.call('SREM', p .. 'talk:' .. talk, key) end
  local size = redis.call('HGET', p .. 'size', key)
  if size then redis.call('DECRBY', p .. 'bytes', size) end
  redis.call('HDEL', p .. 'size', key)
  redis.call('HDEL', p .. 'entries', key)
  redis.call('HDEL', p .. 'talks', key)
  redis.call('ZREM', p .. 'used', key)
  redis.call('ZREM', p .. 'made', key)
  redis.call('DEL', name)
  return size and 1 or 0
end
"""

_PUT = (
    _DROP
    + """
local key, place, talk, entries, blob = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local size, now, ttl, most = ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
drop(key)
local name = p .. 'turn:' .. key
redis.call('HSET', name, 'place', place, 'blob', blob)
if ttl > 0 then redis.call('PEXPIRE', name, math.ceil(ttl * 1000)) end
redis.call('HSET', p .. 'entries', key, entries)
redis.call('HSET', p .. 'talks', key, talk)
for hash in string.gmatch(entries, '%S+') do redis.call('SADD', p .. 'entry:' .. hash, key) end
redis.call('SADD', p .. 'talk:' .. talk, key)
redis.call('HSET', p .. 'size', key, size)
redis.call('INCRBY', p .. 'bytes', size)
redis.call('ZADD', p .. 'used', now, key)
redis.call('ZADD', p .. 'made', now, key)
if ttl > 0 then
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', p .. 'used', '-inf', tonumber(now) - ttl)) do drop(old) end
end
while tonumber(redis.call('GET', p .. 'bytes')) > most do
  local oldest = redis.call('ZRANGE', p .. 'used', 0, 0)[1]
  if not oldest then redis.call('SET', p .. 'bytes', 0) break end
  drop(oldest)
end
"""
)

_GET = """
local p, oldest = KEYS[1], tonumber(ARGV[1])
local answer = {}
for k = 2, #ARGV do
  local names = {}
  for hash in string.gmatch(ARGV[k], '%S+') do names[#names + 1] = p .. 'entry:' .. hash end
  local found = {}
  if #names > 0 then
    for _, key in ipairs(redis.call('SUNION', unpack(names))) do
      local used = redis.call('ZSCORE', p .. 'used', key)
      local record = redis.call('HMGET', p .. 'turn:' .. key, 'place', 'blob')
      if used and tonumber(used) > oldest and record[2] then found[#found + 1] = {key, record[1], record[2]} end
    end
  end
  answer[#answer + 1] = found
end
return answer
"""

_TOUCH = """
local p, now, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
for k = 3, #ARGV do
  if redis.call('EXISTS', p .. 'turn:' .. ARGV[k]) == 1 then
    redis.call('ZADD', p .. 'used', now, ARGV[k])
    if ttl > 0 then redis.call('PEXPIRE', p .. 'turn:' .. ARGV[k], math.ceil(ttl * 1000)) end
  end
end
"""

_PURGE = (
    _DROP
    + """
local talk, before = ARGV[1], ARGV[2]
local keys
if talk ~= '' then keys = redis.call('SMEMBERS', p .. 'talk:' .. talk)
else keys = redis.call('ZRANGE', p .. 'made', 0, -1) end
local count = 0
for _, key in ipairs(keys) do
  local made = redis.call('ZSCORE', p .. 'made', key)
  if before == '' or (made and tonumber(made) < tonumber(before)) then count = count + drop(key) end
end
return count
"""
)


class RedisStore(TurnStore):
    """Turns in a Redis or Valkey server that several replicas share.

    `url`: as the redis package reads it (`redis://host:6379/0`, `rediss://…`, `unix://…`), or a ready client with
    `decode_responses=False`. `prefix` keeps several stores apart; what is under it counts together against `max_bytes`.
    Set the same `key` on all replicas: then a blob that another client of the server wrote is refused. Raises
    `ImportError` without the redis package. Failures of the server are raised as that package's exceptions.
    """

    def __init__(
        self,
        url: str | redis.Redis,
        max_bytes: int = 1 << 30,
        *,
        ttl: float | None = None,
        key: Keys = None,
        prefix: str = "qwenparse",
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(max_bytes=max_bytes, ttl=ttl, key=key, clock=clock)
        if isinstance(url, str):
            try:
                import redis
            except ImportError as error:
                raise ImportError("RedisStore needs the redis package: pip install 'qwenparse[store]'") from error
            self._client: Any = redis.Redis.from_url(url)
        else:
            self._client = url
        self._prefix = f"{{{prefix}}}:"
        self._put_script = self._client.register_script(_PUT)
        self._get_script = self._client.register_script(_GET)
        self._touch_script = self._client.register_script(_TOUCH)
        self._purge_script = self._client.register_script(_PURGE)

    def close(self) -> None:
        self._client.close()

    @property
    def used_bytes(self) -> int:
        """What the turns take, as `max_bytes` counts it."""
        return int(self._client.get(f"{self._prefix}bytes") or 0)

    def __len__(self) -> int:
        return int(self._client.zcard(f"{self._prefix}used"))

    def _put(self, record: Record, now: float) -> None:
        entries = " ".join(dict.fromkeys((record.place, *record.calls)))
        self._put_script(
            keys=[self._prefix],
            args=[
                record.key, record.place, record.conversation, entries, record.blob, record.size,
                repr(now), self.ttl or 0, self.max_bytes,
            ],
        )  # fmt: skip

    def _get(self, queries: Sequence[Query], now: float) -> list[tuple[list[Candidate], list[Candidate]]]:
        oldest = "-inf" if self.ttl is None else repr(now - self.ttl)
        wanted = [text for query in queries for text in (" ".join(query.calls), query.place)]
        answer = self._get_script(keys=[self._prefix], args=["-1e300" if oldest == "-inf" else oldest, *wanted])
        lists = [[Candidate(key.decode(), place.decode(), blob) for key, place, blob in found] for found in answer]
        return list(zip(lists[::2], lists[1::2], strict=True))

    def _touch(self, keys: Sequence[str], now: float) -> None:
        self._touch_script(keys=[self._prefix], args=[repr(now), self.ttl or 0, *keys])

    def _purge(self, conversation: str | None, before: float | None) -> int:
        return int(
            self._purge_script(
                keys=[self._prefix], args=[conversation or "", "" if before is None else repr(before)]
            )
        )
