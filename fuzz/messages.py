"""Message histories for the template targets, driven by a `random.Random`: mostly sensible, now and then hostile."""

from __future__ import annotations

import json
import random
from typing import Any

from qwenparse._grammar import KEYS, NAMES, PROSE, SCALARS, Grammar

JUNK: tuple[Any, ...] = (None, 5, 1.5, True, [], {}, "", ["x"], {"type": "text", "text": "x"}, [None], b"x")


class Histories:
    """Histories and tools. `hostile` is the probability of a wrong type or key at each place; `plain` leaves out what
    only Python can do: JSON text as arguments, and text that holds thoughts and calls of its own."""

    def __init__(self, rng: random.Random, *, hostile: float = 0.0, plain: bool = False) -> None:
        self.rng = rng
        self.plain = plain
        self.hostile = hostile
        self.grammar = Grammar(rng, 0.05)
        self.ids = 0

    def messages(self) -> list[Any]:
        """One to eight messages."""
        rng = self.rng
        result: list[Any] = []
        if rng.random() < 0.5:
            result.append({"role": "system", "content": self.content()})
        result.append({"role": "user", "content": self.content()})
        for _ in range(rng.randrange(3)):
            result += self.turn()
            if rng.random() < 0.7:
                result.append({"role": "user", "content": self.content()})
        if rng.random() < self.hostile:
            result.insert(rng.randrange(len(result) + 1), rng.choice((*JUNK, {"role": "tool"}, {"role": "x", "content": ""})))
        if rng.random() < self.hostile:
            rng.shuffle(result)
        return result

    def turn(self) -> list[Any]:
        """An assistant message, and the results of its calls."""
        rng = self.rng
        message: dict[str, Any] = {"role": "assistant", "content": self.odd(self.text())}
        if rng.random() < 0.5:
            message["reasoning_content"] = self.odd(self.text())
        if rng.random() < 0.2 and not self.plain:
            message["content"] = self.grammar.completion()
        if rng.random() < 0.5:
            return [message]
        calls = [self.call() for _ in range(rng.choice((1, 1, 2)))]
        message["tool_calls"] = self.odd(calls)
        answers = [{"role": "tool", "content": self.content(), **self._answer(call)} for call in calls]
        return [message, *(answers if rng.random() < 0.9 else answers[:-1])]

    def _answer(self, call: Any) -> dict[str, Any]:
        return {"tool_call_id": call["id"]} if isinstance(call, dict) and "id" in call else {}

    def call(self) -> Any:
        """A call, arguments as a mapping or as JSON text."""
        rng = self.rng
        arguments: Any = {rng.choice(KEYS[:9]): self.value(0) for _ in range(rng.randrange(4))}
        if rng.random() < 0.3 and not self.plain:
            arguments = json.dumps(arguments, ensure_ascii=rng.random() < 0.5)
        function = {"name": self.odd(rng.choice(NAMES[:5])), "arguments": self.odd(arguments)}
        if rng.random() < 0.2:
            return function
        self.ids += 1
        return {"id": f"call_{self.ids}", "type": "function", "function": function}

    def content(self) -> Any:
        """A string, or a list of parts."""
        rng = self.rng
        if rng.random() < 0.8:
            return self.odd(self.text())
        parts: list[Any] = [{"type": "text", "text": self.text()} for _ in range(rng.randrange(3))]
        if rng.random() < 0.3:
            parts.append(rng.choice(({"type": "image"}, {"type": "video"}, {"image_url": "u"}, {"video": "v"})))
        return self.odd(parts)

    def text(self) -> str:
        """Some prose, or a scalar, or nothing."""
        rng = self.rng
        texts = ("", " ", "\n", rng.choice(SCALARS), rng.choice(PROSE), self.grammar.prose(3), self.grammar.prose(3))
        text = rng.choice(texts)
        return text.replace("<", "«") if self.plain else text

    def value(self, depth: int) -> Any:
        """An argument of a call."""
        rng = self.rng
        kind = rng.randrange(8)
        if kind == 0 and depth < 3:
            return [self.value(depth + 1) for _ in range(rng.randrange(3))]
        if kind == 1 and depth < 3:
            return {rng.choice(KEYS): self.value(depth + 1) for _ in range(rng.randrange(3))}
        return (None, True, False, 0, -7, 10**20, 1.0, 0.5, 1e300)[rng.randrange(9)] if kind < 5 else self.text()

    def odd(self, usual: Any) -> Any:
        """`usual`, or with probability `hostile` something of another type."""
        return self.rng.choice(JUNK) if self.rng.random() < self.hostile else usual

    def tools(self) -> list[Any] | None:
        """None, or up to two tools."""
        rng = self.rng
        made = [
            {"type": "function", "function": {"name": n, "description": self.text(), "parameters": self.value(0)}}
            for n in rng.sample(NAMES[:4], rng.randrange(3))
        ]
        return self.odd(made) if rng.random() < 0.6 else None
