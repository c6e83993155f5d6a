"""Tool results and the calls they answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import TemplateError
from .messages import Message, field


class Pending:
    """The calls of one assistant message that no tool result has answered yet.

    `index` is the message's place, `left` the numbers of the calls without a result, in order.
    """

    __slots__ = ("_by_id", "index", "left")

    def __init__(self, calls: Any, index: int) -> None:
        found = calls if isinstance(calls, (list, tuple)) else ()
        self.index = index
        self.left: dict[int, None] = dict.fromkeys(range(len(found)))
        self._by_id: dict[Any, list[int]] = {}
        for number, call in enumerate(found):
            id = _id(field(call, "id"))
            if id is not None:
                self._by_id.setdefault(id, []).append(number)

    def order(self, run: Sequence[Message], text: Callable[[Any], str]) -> list[int]:
        """The places of a run of tool messages in the order of the calls they answer; these are then answered.

        Raises `TemplateError` for an id that no pending call has. Without ids the order stays.
        """
        if not self._by_id:
            for call in list(self.left)[: len(run)]:
                del self.left[call]
            return list(range(len(run)))
        place: dict[int, int] = {}
        free: list[int] = []
        for at, message in enumerate(run):
            wanted = _id(message.get("tool_call_id"))
            if wanted is None:
                free.append(at)
                continue
            calls = self._by_id.get(wanted, [])
            while calls and calls[0] not in self.left:
                del calls[0]
            if not calls:
                raise TemplateError(f"Tool result does not match a tool call: {text(wanted)}")
            call = calls.pop(0)
            del self.left[call]
            place[call] = at
        fitting = list(zip(list(self.left), free, strict=False))
        for number, at in fitting:
            del self.left[number]
            place[number] = at
        return [place[call] for call in sorted(place)] + free[len(fitting) :]


def _id(value: Any) -> str | int | None:
    """An id, None for what is none."""
    return value if isinstance(value, (str, int)) and value != "" else None
