"""What all stores share: the keys a turn is found by, the rules of a match, blobs that are checked on load.

A wrong match is worse than a miss. A turn is found by the ids of its calls, then by the chain of the messages before it
together with its digest; in both cases it counts only if its digest, made anew from its text, is that of the client's
messages, and its reasoning too where the client sent any. If several different turns remain, none is the right one.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ReplayError
from ..replay import History, Keys, Place, dump_turn, keys_of, load_turn
from ..replay.digest import hashed

if TYPE_CHECKING:
    from ..turn import Turn

OVERHEAD = 512
"""Bytes that are counted for a turn beside its blob."""
_LOADED, _LOADED_SIZE = 512, 1 << 15
"""How many turns, of blobs of what size, each process keeps as they were read, beside what `max_bytes` bounds."""
_TRIES = 8
"""Assistant messages in a row that are tried as the first of a turn."""


class Record(NamedTuple):
    """A turn as a backend keeps it. All keys are hashes."""

    key: str
    """Of the text and everything else that tells two turns apart: remembering one twice keeps one."""
    conversation: str
    place: str
    """Of the chain and the digest."""
    calls: tuple[str, ...]
    blob: bytes

    @property
    def size(self) -> int:
        return len(self.blob) + OVERHEAD


class Candidate(NamedTuple):
    key: str
    place: str
    blob: bytes


class Query(NamedTuple):
    """What a turn is looked for by."""

    calls: tuple[str, ...]
    place: str


def _place_key(chain: str, digest: str) -> str:
    return hashed("place", chain, digest)


def _call_keys(ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(hashed("call", call_id) for call_id in ids))


class TurnStore:
    """Base of the stores; a backend defines the methods that begin with an underscore.

    `max_bytes`: what all turns together may take (blobs and a fixed amount for each). `ttl`: seconds after its last use
    that a turn is kept, None for no limit. `key`: bytes that blobs are sealed with, or several (the first seals, all
    are tried on load). `clock`: seconds since the epoch. Safe to use from several threads.
    """

    def __init__(
        self, *, max_bytes: int, ttl: float | None = None, key: Keys = None, clock: Callable[[], float] = time.time
    ) -> None:
        if max_bytes < 1:
            raise ValueError(f"max_bytes={max_bytes}: a store needs room")
        if ttl is not None and not ttl > 0:
            raise ValueError(f"ttl={ttl}: it takes seconds above 0, or None")
        self.max_bytes = max_bytes
        self.ttl = ttl
        self._keys = keys_of(key)
        self._clock = clock
        self._loaded: OrderedDict[bytes, Turn] = OrderedDict()
        self._loading = Lock()

    # for callers

    def remember(self, messages_before: Sequence[Mapping[str, Any]], turn: Turn) -> bool:
        """Keeps a turn that was generated after `messages_before`.

        These are the messages of the request; if its last one was continued, those before that one. Returns whether the
        turn is kept: one that could not be read again (a control token spelled in text, without a key) or that is
        larger than the whole store is not. Raises `ValueError` for a turn that is not closed.
        """
        history = History(messages_before)
        blob = dump_turn(turn, self._keys)
        try:
            load_turn(blob, self._keys)
        except ReplayError:
            return False
        chain = history.chain(len(history.messages))
        identity = sha256()
        for part in (chain, turn.digest(), turn.gen_prefix, turn.raw, turn.closed or "", *(c.id for c in turn.calls)):
            data = part.encode("utf-8", "surrogatepass")
            identity.update(len(data).to_bytes(8, "big") + data)
        record = Record(
            identity.hexdigest()[:32],
            history.conversation,
            _place_key(chain, turn.digest()),
            _call_keys([call.id for call in turn.calls if call.id]),
            blob,
        )
        if record.size > self.max_bytes:
            return False
        self._put(record, self._clock())
        return True

    def find(self, messages: Sequence[Mapping[str, Any]], index: int, /) -> Turn | None:
        """The turn that `messages[index]`, and the assistant messages that follow it at once, were made of.

        None if none is known, or if there is any doubt.
        """
        place = History(messages).place(index)
        return None if place is None else self._match([place])[0]

    def find_all(self, messages: Sequence[Mapping[str, Any]]) -> dict[int, tuple[Turn, int]]:
        """All turns of a history: index of the first message -> (turn, index behind the last message).

        One question to the backend per assistant message in a row, whatever the length of the history. Where assistant
        messages stand in a row and no turn is known for all of them, the later ones are tried without the first.
        """
        history = History(messages)
        said = [_assistant(message) for message in messages]
        starts = [i for i, mine in enumerate(said) if mine and not (i and said[i - 1])]
        found: dict[int, tuple[Turn, int]] = {}
        for _ in range(_TRIES):
            places = [place for place in map(history.place, starts) if place is not None]
            if not places:
                break
            starts = []
            for place, turn in zip(places, self._match(places), strict=True):
                if turn is not None:
                    found[place.start] = turn, place.end
                elif place.start + 1 < place.end:
                    starts.append(place.start + 1)
        return found

    def purge(
        self, messages: Sequence[Mapping[str, Any]] | None = None, *, older_than: float | None = None
    ) -> int:
        """Deletes turns and returns how many.

        With `messages` those of that conversation: every turn whose history begins with the same user message. With
        `older_than` those that were remembered more than so many seconds ago. With both, those of which both is true;
        with neither, all.
        """
        conversation = None if messages is None else History(messages).conversation
        before = None if older_than is None else self._clock() - older_than
        with self._loading:
            self._loaded.clear()
        return self._purge(conversation, before)

    def close(self) -> None:
        """Gives back what the store holds of the system."""

    # the rules of a match

    def _match(self, places: Sequence[Place]) -> list[Turn | None]:
        queries = [Query(_call_keys(p.said.ids), _place_key(p.chain, p.said.digest)) for p in places]
        now = self._clock()
        used: list[str] = []
        turns: list[Turn | None] = []
        for place, query, candidates in zip(places, queries, self._get(queries, now), strict=True):
            by_call, by_place = candidates
            turn = None
            for group in (by_call, by_place):
                turn, key = self._choose(place, query, group)
                if turn is not None:
                    used.append(key)
                    break
            turns.append(turn)
        if used:
            self._touch(used, now)
        return turns

    def _choose(self, place: Place, query: Query, candidates: Sequence[Candidate]) -> tuple[Turn | None, str]:
        right: list[tuple[Turn, Candidate]] = []
        for candidate in candidates:
            try:
                turn = self._load(candidate.blob)
            except ReplayError:
                continue
            if turn.digest() != place.said.digest:
                continue
            if place.said.reasoning and turn.reasoning_digest() != place.said.reasoning_digest:
                continue
            right.append((turn, candidate))
        same_chain = [each for each in right if each[1].place == query.place]
        right = same_chain or right
        if not right or any((t.raw, t.gen_prefix) != (right[0][0].raw, right[0][0].gen_prefix) for t, _ in right[1:]):
            return None, ""
        return right[0][0], right[0][1].key

    def _load(self, blob: bytes) -> Turn:
        """The turn of a blob; the ones that were used last are not read again."""
        with self._loading:
            turn = self._loaded.get(blob)
            if turn is not None:
                self._loaded.move_to_end(blob)
                return turn
        turn = load_turn(blob, self._keys)
        if len(blob) <= _LOADED_SIZE:
            with self._loading:
                self._loaded[blob] = turn
                if len(self._loaded) > _LOADED:
                    self._loaded.popitem(last=False)
        return turn

    # for backends

    def _put(self, record: Record, now: float) -> None:
        """Keeps a record (again), then deletes what is over time, and what was not used longest as long as it must."""
        raise NotImplementedError

    def _get(
        self, queries: Sequence[Query], now: float
    ) -> Sequence[tuple[Sequence[Candidate], Sequence[Candidate]]]:
        """For each query what has one of its calls, and what has its place. What is over time is not in it."""
        raise NotImplementedError

    def _touch(self, keys: Sequence[str], now: float) -> None:
        """Notes that these were used."""
        raise NotImplementedError

    def _purge(self, conversation: str | None, before: float | None) -> int:
        raise NotImplementedError


def _assistant(message: Any) -> bool:
    role = message.get("role") if isinstance(message, Mapping) else getattr(message, "role", None)
    return role == "assistant"
