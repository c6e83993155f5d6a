"""The chain of a history: for every place a hash over what a client sent before it.

Leading system and developer messages are not in it (they belong to the head of the prompt), nor are ids and the order
in which tool results came back: a run of results is hashed in the order of the calls it answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from .digest import Said, bare, field, hashed, said, texts_and_rest

_SYSTEM = ("system", "developer")
_MAX_GROUP = 64
"""Assistant messages in a row that are looked at as one turn."""


class Place(NamedTuple):
    """An assistant turn in a history: `messages[start:end]`, what stood before, and what it says."""

    start: int
    end: int
    chain: str
    said: Said


def _plain(message: Any) -> str:
    """The hash of a message that is neither an assistant's nor a tool's."""
    role = field(message, "role")
    text, thought, rest = texts_and_rest(field(message, "content"))
    return hashed("system" if role in _SYSTEM else str(role), bare(text), bare(thought), *rest)


def in_call_order(results: Sequence[Any], pending: list[str]) -> list[Any]:
    """A run of tool results in the order of the calls they answer; `pending` are the ids of the unanswered calls.

    Results without an id take the places that are left, in their order; what answers no call comes last. The answered
    ids are removed from `pending`.
    """
    if not any(pending):
        del pending[: len(results)]
        return list(results)
    places: list[Any] = [None] * len(pending)
    places_of: dict[str, list[int]] = {}
    for k in range(len(pending) - 1, -1, -1):
        places_of.setdefault(pending[k], []).append(k)
    without: list[Any] = []
    surplus: list[Any] = []
    for result in results:
        call_id = field(result, "tool_call_id")
        if not isinstance(call_id, str) or not call_id:
            without.append(result)
            continue
        if places_of.get(call_id):
            places[places_of[call_id].pop()] = result
        else:
            surplus.append(result)
    free = iter(without)
    for k, place in enumerate(places):
        if place is None:
            places[k] = next(free, None)
    answered = [place for place in places if place is not None]
    pending[:] = [i for i, place in zip(pending, places, strict=True) if place is None]
    return [*answered, *free, *surplus]


class History:
    """The messages of a request, read once. O(their length), whatever is asked of it."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self.messages = list(messages)
        self._chains: list[str] = [hashed("history")]
        """`_chains[i]`: the chain before message i; inside a run of results or a group, that before the run."""
        self._said: dict[int, tuple[int, Said]] = {}
        """What the groups say that were read so far: index of the first message -> (index behind the last, said)."""
        self._index = 0
        self._pending: list[str] = []
        while self._index < len(self.messages) and field(self.messages[self._index], "role") in _SYSTEM:
            self._chains.append(self._chains[0])
            self._index += 1

    @cached_property
    def conversation(self) -> str:
        """What all turns of a conversation share: the hash of its first user message."""
        for message in self.messages:
            if field(message, "role") == "user":
                return hashed("conversation", _plain(message))
        return hashed("conversation")

    def _run_end(self, start: int, role: str) -> int:
        end = start
        while end < len(self.messages) and field(self.messages[end], "role") == role:
            end += 1
        return end

    def chain(self, index: int) -> str:
        """The chain of `messages[:index]`."""
        if not 0 <= index <= len(self.messages):
            raise IndexError(f"message {index} of {len(self.messages)}")
        while self._index < index:
            self._step()
        role = field(self.messages[index], "role") if index < len(self.messages) else None
        if index and role in ("assistant", "tool") and field(self.messages[index - 1], "role") == role:
            return History(self.messages[:index]).chain(index)  # in the middle of a run: here it ends before it
        return self._chains[index]

    def _step(self) -> None:
        start, before = self._index, self._chains[self._index]
        role = field(self.messages[start], "role")
        end = start + 1
        if role == "assistant":
            end = self._run_end(start, "assistant")
            group = self._group(start, end)
            chain = hashed(before, "assistant", group.digest)
            self._pending = self._ids(start, end)
        elif role == "tool":
            end = self._run_end(start, "tool")
            ordered = in_call_order(self.messages[start:end], self._pending)
            chain = hashed(before, "tool", *map(self._result, ordered))
        else:
            chain = hashed(before, _plain(self.messages[start]))
        self._chains += [before] * (end - start - 1) + [chain]
        self._index = end

    def _group(self, start: int, end: int) -> Said:
        found = self._said.get(start)
        if found is None or found[0] != end:
            found = self._said[start] = end, said(self.messages[start:end])
        return found[1]

    def _ids(self, start: int, end: int) -> list[str]:
        found = []
        for message in self.messages[start:end]:
            calls = field(message, "tool_calls")
            for call in calls if isinstance(calls, (list, tuple)) else ():
                call_id = field(call, "id")
                found.append(call_id if isinstance(call_id, str) else "")
        return found

    def _result(self, message: Any) -> str:
        text, thought, rest = texts_and_rest(field(message, "content"))
        return hashed("result", bare(text), bare(thought), *rest)

    def place(self, index: int) -> Place | None:
        """The assistant turn that begins at `messages[index]`, with all assistant messages that follow at once."""
        if not 0 <= index < len(self.messages) or field(self.messages[index], "role") != "assistant":
            return None
        end = self._run_end(index, "assistant")
        if end - index > _MAX_GROUP:
            return None
        return Place(index, end, self.chain(index), self._group(index, end))
