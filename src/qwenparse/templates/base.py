"""What every native renderer does: head, messages in order, the open turn at the end, and how turns are spliced in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from .continuation import continue_turn, cut_at_marker, mark_final
from .engines import Engine
from .messages import UNDEFINED, Message
from .pieces import Framed, Keep, Pieces, Splice, cut


class Renderer:
    """One template with its options. Holds no messages; one instance renders any number of histories.

    `options` are the template's own arguments (`enable_thinking`, …); an absent one is undefined, names the template
    does not read are ignored as Jinja ignores them. A subclass that refuses options does so in `__init__`.
    """

    thinks: ClassVar[bool] = True
    """The template writes think blocks."""

    def __init__(self, engine: Engine, options: Mapping[str, Any]) -> None:
        self.engine: Final = engine
        self.trim: Final = engine.trim
        self.enable_thinking: Any = options.get("enable_thinking", UNDEFINED)
        self.add_vision_id: Final = bool(options.get("add_vision_id"))

    # what a family defines

    def head(self, p: Pieces, messages: Sequence[Message], tools: Any) -> int:
        """Writes the system block and returns the index of the first message that `body` has to look at."""
        raise NotImplementedError

    def find_query(self, messages: Sequence[Message]) -> int | None:
        """The index of the last real user message, None if there is none."""
        return None

    def no_query(self, messages: Sequence[Message]) -> int:
        """The last query of a history that has none."""
        return len(messages) - 1

    def keep(self, index: int, last_query: int) -> Keep:
        """Whether a turn at this place keeps its think block in later prompts."""
        return "keep"

    @property
    def keeps_old_thinking(self) -> bool:
        """Whether blocks before the last query stay too: then a prompt only ever grows at its end."""
        return self.keep(0, 1) == "keep"

    def body(self, p: Pieces, messages: Sequence[Message], start: int, last_query: int, splice: Splice | None = None) -> None:
        """Writes `messages[start:]`; the ones before give the role of the neighbour."""
        raise NotImplementedError

    def gen_prefix(self) -> str:
        """What the generation prompt writes behind the header of the assistant's turn."""
        return ""

    def text_of(self, p: Pieces, content: Any) -> str:
        """The text of a content, untrimmed."""
        return content if isinstance(content, str) else ""

    # what all share

    def trimmed(self, text: str) -> str:
        """`text` trimmed as the engine trims, frames kept."""
        if type(text) is not Framed:
            return self.trim(text)
        kept = self.trim(text)
        start = text.index(kept)
        return cut(text, start, start + len(kept))

    def render(
        self,
        messages: Sequence[Message],
        tools: Any = None,
        *,
        add_generation_prompt: bool = True,
        splice: Splice | None = None,
    ) -> Pieces:
        """The prompt of a history. `splice` puts turns in the place of assistant messages, which are not looked at."""
        p = Pieces()
        start = self.head(p, messages, tools)
        p.head_end = len(p.text)
        query = self.find_query(messages)
        p.has_query = query is not None
        self.body(p, messages, start, self.no_query(messages) if query is None else query, splice)
        if add_generation_prompt:
            self.open_turn(p)
        return p

    def open_turn(self, p: Pieces) -> None:
        """Writes the generation prompt."""
        p.begin_turn()
        p.add("gen_prefix", self.gen_prefix())

    def follow(
        self,
        p: Pieces,
        messages: Sequence[Message],
        splice: Splice | None = None,
        turn: Message | None = None,
    ) -> None:
        """Writes the messages behind an assistant turn that `p` already ends with, in time proportional to them.

        `p` may be fresh; only its counters (`images`, `videos`), `has_query` and `thinking` are read. `turn`: the
        message of that turn, if known; the robust policy binds tool results to its calls. Indices in notes count it.
        """
        turn_and_new: list[Message] = [turn or {"role": "assistant", "content": ""}, *messages]
        query = self.find_query(turn_and_new)
        if query is not None:
            p.has_query = True
        elif p.has_query:
            query = 0
        self.body(p, turn_and_new, 1, self.no_query(turn_and_new) if query is None else query, splice)

    def continue_with(self, p: Pieces, messages: Sequence[Message], turn: Message) -> None:
        """Writes the messages behind the turn that `p` ends with, and opens the next one."""
        self.follow(p, messages, turn=turn)
        p.open = None
        self.open_turn(p)

    def continue_final(
        self, messages: Sequence[Message], tools: Any, field: str | bool, *, splice: Splice | None = None
    ) -> Pieces:
        """A prompt whose open turn begins with the last message, written as llama.cpp writes it: nothing is trimmed."""
        *before, last = messages or [{}]
        p = self.render(before, tools, add_generation_prompt=False, splice=splice)
        p.begin_turn()
        content = self.text_of(p, last.get("content"))
        continue_turn(p, last, content, field, "block" if self.thinks else "plain")
        return p

    def continue_marked(
        self, messages: Sequence[Message], tools: Any, field: str | bool, *, splice: Splice | None = None
    ) -> Pieces:
        """A prompt whose open turn begins with the last message, as transformers does it: through the template."""
        marked, text = mark_final(messages, field)
        p = self.render(marked, tools, add_generation_prompt=False, splice=splice)
        p.cut_open(cut_at_marker(p.join(), text))
        return p
