"""Prompts: the text a model reads, with the places where frames, message text and raw turns lie."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from . import follow, splice
from .encode import encode_segments
from .errors import FormatError, TemplateError
from .formats import Format, get_format
from .templates import get_renderer, sentinel
from .templates.base import Renderer
from .templates.engines import get_engine
from .templates.jinja import pieces_of, render_jinja, render_text, source_of
from .templates.messages import Normalize, has_string_arguments, normalized
from .templates.pieces import Note, Part, Pieces, Segment, SegmentKind
from .templates.texts import IMAGE, VIDEO

if TYPE_CHECKING:
    from .tokens import TokenTable
    from .turn import Turn

__all__ = ["Note", "Prompt", "Segment", "SegmentKind", "render_prompt"]

_NORMALIZE_HINT = 'the arguments of a call are JSON text; normalize="openai" turns them into mappings'

# What an input of the wrong shape makes Python raise inside a renderer; a template engine fails on it too.
_FAILURES = (TypeError, ValueError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True)
class _Origin:
    """What a prompt was rendered from, as far as later prompts of the conversation need it."""

    options: Mapping[str, Any]
    tools: Any = None
    engine: str | tuple[str, str] = "python"
    robust: bool = False
    normalize: Normalize | None = None
    template: str | None = None
    """The source of a template file."""
    messages: Sequence[Mapping[str, Any]] = ()
    """The history, for a template file only: such a template may look at all of it."""


class Prompt:
    """The text of a prompt. From `render_prompt`, or `Prompt(text, format)` for one that was recorded.

    `text` · `format`, its name or None · `segments`, a gap-free cover of the text (in code points) · `notes`, what the
    renderer changed or missed · `gen_start` and `gen_prefix`, where the open turn's own text begins and what it is. A
    recorded text is one frame, and behind its last open `<|im_start|>assistant\n` a gen_prefix.
    """

    __slots__ = ("_encoded", "_origin", "_pieces", "_segments", "format", "text")

    def __init__(self, text: str, format: Format | str | None = None) -> None:
        self.text = text
        self.format = None if format is None else get_format(format).name
        self._pieces = pieces_of(text)
        self._origin: _Origin | None = None
        self._segments: tuple[Segment, ...] | None = None
        self._encoded: tuple[Any, str, int, list[int]] | None = None
        """(tokenizer, specials_in_data, how many segments they are of, ids) of the last call of `ids`."""

    @classmethod
    def _of(cls, text: str, pieces: Pieces, format: str, origin: _Origin | None) -> Prompt:
        self = cls.__new__(cls)
        self.text, self.format = text, format
        self._pieces, self._origin, self._segments, self._encoded = pieces, origin, None, None
        return self

    @property
    def segments(self) -> tuple[Segment, ...]:
        if self._segments is None:
            self._segments = self._pieces.segments()
        return self._segments

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(self._pieces.notes)

    @property
    def gen_start(self) -> int | None:
        """Where the text behind the open turn's header begins, in code points; None if no turn is open."""
        start = self._pieces.open
        return None if start is None else len(self.text) - sum(map(len, self._pieces.text[start:]))

    @property
    def gen_prefix(self) -> str | None:
        """What the prompt gives the turn that follows (`""`, `<think>\\n`, …); None if no turn is open."""
        start = self.gen_start
        return None if start is None else self.text[start:]

    def ids(self, tokenizer: Any, *, specials_in_data: Literal["text", "template"] = "text") -> list[int]:
        """The token ids of the prompt.

        `tokenizer`: a `tokenizers.Tokenizer`, a fast tokenizer of transformers, a tiktoken `Encoding`, or anything
        whose `encode(text)` gives ids (added tokens then count everywhere). Raw turns are encoded apart from what
        stands around them. `"text"`: added tokens are recognised where the template wrote them, in text from messages
        `<|im_end|>` or `<tool_call>` stays ordinary text (of a template file but for tags that it looks for itself; see
        `templates.guard`). In a raw turn that was read as text its tags are recognised, control tokens are not.
        `"template"`: they are recognised everywhere, as transformers does. Where messages hold no such text both give
        the same ids. Raises `FormatError` for another value, and `TypeError` where data spells an added token and the
        tokenizer cannot encode without them.
        """
        done, ids = 0, list[int]()
        if self._encoded is not None and self._encoded[0] is tokenizer and self._encoded[1] == specials_in_data:
            _, _, done, ids = self._encoded
        rest = self.segments[done:]
        ids = ids + encode_segments(
            self.text, rest, tokenizer, specials_in_data=specials_in_data, known=self._pieces.known_turns()
        )
        self._encoded = tokenizer, specials_in_data, len(self.segments), ids
        return list(ids)

    def ids_after(
        self,
        prompt_ids: Sequence[int],
        turn: Turn,
        tokenizer: Any,
        *,
        table: TokenTable | None = None,
        specials_in_data: Literal["text", "template"] = "text",
    ) -> list[int]:
        """The ids of this prompt, beginning with those that the engine read and those that it sampled.

        `prompt_ids`: the prompt that `turn` was generated from, as the engine read it (a list, an array, a tensor).
        This prompt is the next one, from `extend` or `render_prompt(turns=)`. Only what stands behind the turn is
        encoded, as `ids` does it; what was fed behind the stop token is left out. `ids` gives the same ids from then
        on, and prompts that are extended from this one begin with them. `table` decodes the ids: by default the one
        the turn was fed with, and for a stored turn one that is made of the tokenizer (some tenths of a second).

        Linear in the new text, where `prompt_ids` came from `ids` or `ids_after` of the prompt that this one extends;
        others are decoded and compared. Raises `TokenIdsError` with its `reason` where the ids cannot be had that way
        (never a guess), `ValueError` if the turn is not closed, and what `ids` raises.
        """
        held = follow.as_ids(prompt_ids)
        start = None
        if self._encoded is not None:
            whose, how, done, ids = self._encoded
            if whose is tokenizer and how == specials_in_data and ids == held:
                start = self.segments[done - 1].end if done else 0
        ids = follow.following(
            held, turn, self.text, self.segments, tokenizer, start=start, table=table, specials_in_data=specials_in_data
        )
        self._encoded = tokenizer, specials_in_data, len(self.segments), ids
        return list(ids)

    def extend(
        self,
        turn: Turn,
        new_messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **template_kwargs: Any,
    ) -> Prompt:
        """The next prompt: this one, the turn generated from it as it is, and the frames of what follows.

        The text begins with `self.text + turn.raw` (without what was fed behind the stop token), the ids with
        `self.ids(tokenizer)` and those that were sampled, if the turn was fed by ids. Renders and encodes only what is
        new. `template_kwargs` act on that only, over those that this prompt was rendered with; where one would have
        changed the head of the prompt, `notes` says so (code `head-kept`; so it does for `tools`).

        Raises `ValueError` if this prompt has no open turn or the turn is not closed, `TemplateError` and `FormatError`
        as `render_prompt` does.
        """
        if turn.closed is None:
            raise ValueError("the turn is still being read; close its parser first")
        if self._pieces.open is None:
            raise ValueError("this prompt has no open turn to put the turn in")
        origin = self._origin or _Origin({})
        notes = _kept(self._origin, tools, template_kwargs)
        origin = replace(origin, options={**origin.options, **template_kwargs})
        name = turn.format.name if self.format is None else self.format
        new = normalized(new_messages, origin.normalize)
        pieces = self._pieces.copy()
        if self._origin is None:
            pieces.images, pieces.videos = self.text.count(IMAGE), self.text.count(VIDEO)
        digest = turn.digest()
        for place in range(pieces.open or 0, len(pieces.text)):
            if place in pieces.special:
                pieces.special[place] = ("gen_prefix", digest)
        before = len(pieces.text)
        parts = splice.parts_of(turn)[2:]
        with _Failures(origin.normalize, new):
            if origin.template is None:
                pieces.splice(parts)
                _renderer(name, origin).continue_with(pieces, new, turn.message())
            else:
                pieces.splice(parts[:-1])
                history = [*(origin.messages or [{"role": "user", "content": "?"}])]
                history.append(sentinel.stand_in(len(history), [(c.id, c.name or "") for c in turn.tool_calls], False))
                pieces.take_tail(_tail(origin, history, new))
                origin = replace(origin, messages=[*history, *new])
        pieces.notes += notes
        prompt = Prompt._of(self.text + "".join(pieces.text[before:]), pieces, name, origin)
        if self._encoded is not None:
            # The turn's ids stand apart, so what stands before them is encoded as it was.
            prompt._encoded = self._encoded
        return prompt

    def __repr__(self) -> str:
        return f"Prompt({self.text!r}, {self.format!r})"

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prompt):
            return NotImplemented
        return self.text == other.text and self.format == other.format and self.segments == other.segments

    def __hash__(self) -> int:
        return hash(self.text)


def render_prompt(
    messages: Sequence[Mapping[str, Any]],
    format: Format | str,
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    turns: splice.Finder | None = None,
    history_thinking: Literal["raw", "template"] | None = None,
    engine: str | tuple[str, str] = "python",
    robust: bool = False,
    template: str | os.PathLike[str] | None = None,
    normalize: Normalize | None = None,
    add_generation_prompt: bool = True,
    continue_final_message: bool | Literal["content", "reasoning_content", "thinking", "reasoning"] = False,
    **template_kwargs: Any,
) -> Prompt:
    """The prompt of a history, exactly as the chat template of `format` writes it.

    `messages` and `tools` are what a chat template gets; neither is changed. `engine`: who runs the template, `python`
    (default), `go` or `llama`, or a pair (trim, number); trim may also be `none`. `template`: the source of another
    template, or a path object; run by Jinja2 (extra `templates`). `normalize`: None, `"transformers5"` or `"openai"`
    (see `templates.messages.normalized`). `robust`: the project's own policy instead of the published template.
    `turns`: a store (or anything with its `find`) whose turns stand in the place of the assistant messages they became.
    `history_thinking`: `"raw"` leaves them as generated, `"template"` drops the think blocks that the template drops,
    None is `"raw"` where the template keeps old thoughts and `"template"` elsewhere; `notes` lists what was dropped and
    which messages had no turn.
    `continue_final_message`: the open turn begins with the text of the last message, as llama.cpp writes it, or with
    `normalize="transformers5"` as transformers does. Everything else goes to the template (`enable_thinking`,
    `preserve_thinking`, `reasoning_effort`, `add_vision_id`, …).

    Raises `TemplateError` where the template refuses its input (`kind="template"`, the template's own text) or its
    engine fails on it (`kind="engine"`), `FormatError` for unknown names and for a format without a native renderer.

    >>> render_prompt([{"role": "user", "content": "Hi"}], "qwen3.6").text
    '<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n<think>\\n'
    """
    if history_thinking not in (None, "raw", "template"):
        raise FormatError(f"history_thinking={history_thinking!r}: it takes None, 'raw' or 'template'")
    name = get_format(format).name
    origin = _Origin(dict(template_kwargs), tools, engine, bool(robust), normalize)
    if template is not None:
        if robust or engine != "python":
            raise FormatError("a template file is run by Jinja2 as it is: template= takes neither robust= nor engine=")
        origin = replace(origin, template=source_of(template))
    renderer = None if template is not None else _renderer(name, origin)
    given = [] if turns is None else list(messages or ())
    history: list[dict[str, Any]] = []
    failures = _Failures(normalize, history)
    with failures:
        history = failures.messages = normalized(messages, normalize)
        splicer: splice.Splicer | None = None
        if turns is not None:
            found = splice.find_turns(turns, given[:-1] if continue_final_message else given)
            policy = history_thinking or _policy(renderer, origin)
            splicer = splice.Splicer(found, policy)
        if renderer is None:
            shown = list(messages) if normalize is None else history
            origin = replace(origin, messages=shown)
            pieces = _render_file(
                name, origin, shown, splicer, bool(add_generation_prompt), continue_final_message or False
            )
        elif continue_final_message:
            go_on = renderer.continue_marked if normalize == "transformers5" else renderer.continue_final
            pieces = go_on(history, tools, continue_final_message, splice=splicer)
        else:
            pieces = renderer.render(
                history, tools, add_generation_prompt=bool(add_generation_prompt), splice=splicer
            )
        if splicer is not None:
            pieces.notes += splicer.notes
        return Prompt._of(pieces.join(), pieces, name, origin)


def _renderer(name: str, origin: _Origin) -> Renderer:
    return get_renderer("robust" if origin.robust else name, get_engine(origin.engine), origin.options)


def _policy(renderer: Renderer | None, origin: _Origin) -> Literal["raw", "template"]:
    """Raw turns where the template keeps old thoughts anyway; otherwise what it does with them."""
    if renderer is not None:
        return "raw" if renderer.keeps_old_thinking else "template"
    source = origin.template or ""
    options = {**origin.options, "add_generation_prompt": False}
    return "raw" if sentinel.keeps_old_thinking(lambda m: render_text(source, m, None, options)) else "template"


def _render_file(
    name: str,
    origin: _Origin,
    messages: Sequence[Mapping[str, Any]],
    splicer: splice.Splicer | None,
    add_generation_prompt: bool,
    continue_final: str | bool,
) -> Pieces:
    """The prompt by a template file, with turns in it."""
    source = origin.template or ""
    if splicer is None or not splicer.found or continue_final:
        return render_jinja(
            source,
            name,
            messages,
            origin.tools,
            origin.options,
            add_generation_prompt=add_generation_prompt,
            continue_final=continue_final,
            marked=origin.normalize == "transformers5",
        )
    options = {**origin.options, "add_generation_prompt": add_generation_prompt}
    standing = {}
    for index, (turn, end) in splicer.found.items():
        standing[index] = sentinel.Standing(end, _calls(messages[index:end]), turn.reasoning is not None)
    return sentinel.spliced(
        lambda shown, declared: render_text(source, shown, declared, options), messages, origin.tools, standing, splicer
    )


def _tail(origin: _Origin, history: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> Pieces:
    """What a template file writes behind the last message of a history, from the newline on."""
    at = len(history) - 1
    source, options = origin.template or "", {**origin.options, "add_generation_prompt": True}
    rendered = sentinel.spliced(
        lambda shown, declared: render_text(source, shown, declared, options),
        [*history, *new],
        origin.tools,
        {at: sentinel.Standing(at + 1, _calls(history[at:]), False)},
        lambda index, keep: [Part("close", "")],
    )
    return rendered


def _calls(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """(id, name) of the calls of assistant messages."""
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return [(call.get("id") or "", (call.get("function") or call).get("name") or "") for call in calls]


def _kept(origin: _Origin | None, tools: Any, options: Mapping[str, Any]) -> list[Note]:
    """What would have changed the head of a prompt that is extended."""
    old = {} if origin is None else origin.options
    changed = [key for key, value in options.items() if key not in old or old[key] != value]
    if tools is not None and (origin is None or origin.tools != tools):
        changed.append("tools")
    return [Note("head-kept", f"{key} acts on what follows; the head of the prompt stays as it is") for key in changed]


class _Failures:
    """Turns what a renderer raises for input of the wrong shape into `TemplateError`."""

    def __init__(self, normalize: str | None, messages: Sequence[Mapping[str, Any]]) -> None:
        self.normalize = normalize
        self.messages = messages

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FormatError) or not isinstance(error, _FAILURES):
            return
        failure = error
        if not isinstance(error, TemplateError):
            failure = TemplateError(str(error), kind="engine", type=type(error).__name__)
        assert isinstance(failure, TemplateError)
        if failure.kind == "engine" and self.normalize != "openai" and has_string_arguments(self.messages):
            failure.hint = _NORMALIZE_HINT
        if failure is not error:
            raise failure from error
