"""Prompts: the text a model reads, with the places where frames, message text and raw turns lie."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .encode import encode_segments
from .errors import FormatError, TemplateError
from .formats import Format, get_format
from .templates import get_renderer
from .templates.base import Renderer
from .templates.engines import get_engine
from .templates.jinja import pieces_of, render_jinja
from .templates.messages import Normalize, has_string_arguments, normalized
from .templates.pieces import Note, Pieces, Segment, SegmentKind

__all__ = ["Note", "Prompt", "Segment", "SegmentKind", "render_prompt"]

_NORMALIZE_HINT = 'the arguments of a call are JSON text; normalize="openai" turns them into mappings'

# What an input of the wrong shape makes Python raise inside a renderer; a template engine fails on it too.
_FAILURES = (TypeError, ValueError, AttributeError, OverflowError, RecursionError)


class Prompt:
    """The text of a prompt. From `render_prompt`, or `Prompt(text, format)` for one that was recorded.

    `text` · `format`, its name or None · `segments`, a gap-free cover of the text (in code points) · `notes`, what the
    renderer changed or missed · `gen_start` and `gen_prefix`, where the open turn's own text begins and what it is. A
    recorded text is one frame, and behind its last open `<|im_start|>assistant\\n` a gen_prefix.
    """

    __slots__ = ("_pieces", "_renderer", "_segments", "format", "text")

    def __init__(self, text: str, format: Format | str | None = None) -> None:
        self.text = text
        self.format = None if format is None else get_format(format).name
        self._pieces = pieces_of(text)
        self._renderer: Renderer | None = None
        self._segments: tuple[Segment, ...] | None = None

    @classmethod
    def _of(cls, pieces: Pieces, format: str, renderer: Renderer | None) -> Prompt:
        self = cls.__new__(cls)
        self.text, self.format = pieces.join(), format
        self._pieces, self._renderer, self._segments = pieces, renderer, None
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
        `<|im_end|>` or `<tool_call>` stays ordinary text. `"template"`: they are recognised everywhere, as
        transformers does. Where messages hold no such text both give the same ids. Raises `FormatError` for another
        value, and `TypeError` where data spells an added token and the tokenizer cannot encode without them.
        """
        return encode_segments(self.text, self.segments, tokenizer, specials_in_data=specials_in_data)

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
    turns: Any = None,
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
    `continue_final_message`: the open turn begins with the text of the last message, as llama.cpp writes it, or with
    `normalize="transformers5"` as transformers does. Everything else goes to the template (`enable_thinking`,
    `preserve_thinking`, `reasoning_effort`, `add_vision_id`, …).

    Raises `TemplateError` where the template refuses its input (`kind="template"`, the template's own text) or its
    engine fails on it (`kind="engine"`), `FormatError` for unknown names and for a format without a native renderer.

    >>> render_prompt([{"role": "user", "content": "Hi"}], "qwen3.6").text
    '<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n<think>\\n'
    """
    if turns is not None or history_thinking is not None:
        raise NotImplementedError("turns= and history_thinking= come with the round trip")
    name = get_format(format).name
    renderer: Renderer | None = None
    if template is None:
        renderer = get_renderer("robust" if robust else name, get_engine(engine), template_kwargs)
    elif robust or engine != "python":
        raise FormatError("a template file is run by Jinja2 as it is: template= takes neither robust= nor engine=")
    history: list[dict[str, Any]] = []
    try:
        history = normalized(messages, normalize)
        if renderer is None:
            assert template is not None
            pieces = render_jinja(
                template,
                name,
                list(messages) if normalize is None else history,
                tools,
                template_kwargs,
                add_generation_prompt=bool(add_generation_prompt),
                continue_final=continue_final_message or False,
                marked=normalize == "transformers5",
            )
        elif continue_final_message:
            go_on = renderer.continue_marked if normalize == "transformers5" else renderer.continue_final
            pieces = go_on(history, tools, continue_final_message)
        else:
            pieces = renderer.render(history, tools, add_generation_prompt=bool(add_generation_prompt))
        return Prompt._of(pieces, name, renderer)
    except FormatError:
        raise
    except TemplateError as error:
        failure = error
    except _FAILURES as error:
        failure = TemplateError(str(error), kind="engine", type=type(error).__name__)
    if failure.kind == "engine" and normalize != "openai" and has_string_arguments(history):
        failure.hint = _NORMALIZE_HINT
    raise failure
