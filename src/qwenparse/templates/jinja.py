"""Any chat template file, run as transformers 5 runs it: sandboxed Jinja2 with the same settings (extra `templates`).

Source of the settings: transformers 5.24.0, `utils/chat_template_utils.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import TemplateError
from ..start import open_tail
from .continuation import continue_turn, cut_at_marker, mark_final
from .guard import data_places
from .messages import Message
from .pieces import Pieces, Places
from .texts import ASSISTANT

if TYPE_CHECKING:
    import jinja2

_STYLES = {
    "qwq": "qwq",
    "qwen2.5": "plain",
    "qwen3-coder": "plain",
    "qwen3-coder-llamacpp": "plain",
    "qwen3-instruct-2507": "plain",
    "qwen3-vl": "plain",
}


def source_of(template: str | os.PathLike[str]) -> str:
    """The template's text: a string is the text itself, a path object names the file."""
    if isinstance(template, str):
        return template
    with open(template, encoding="utf-8", newline="") as file:
        try:
            return file.read()
        except UnicodeDecodeError as error:
            raise TemplateError(f"{os.fspath(template)!r} is not UTF-8 ({error})", kind="engine") from None


@lru_cache(maxsize=16)
def compile_template(source: str) -> jinja2.Template:
    """The compiled template. Raises `ImportError` without jinja2, `TemplateError` for a template that is no Jinja."""
    try:
        import jinja2
        from jinja2.ext import Extension, loopcontrols
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError as error:
        raise ImportError("template= needs jinja2: pip install 'qwenparse[templates]'") from error

    class Generation(Extension):
        """`{% generation %}` marks text for training masks; here it only has to be accepted."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

        def _body(self, caller: Any) -> Any:
            return caller()

    def raise_exception(message: Any) -> None:
        raise TemplateError(str(message))

    def tojson(x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def strftime_now(format: str) -> str:
        return datetime.now().strftime(format)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = strftime_now
    try:
        return environment.from_string(source)
    except (jinja2.TemplateError, RecursionError) as error:
        raise TemplateError(str(error), kind="engine", type=type(error).__name__) from None


def render_text(source: str, messages: Sequence[Message], tools: Any, options: Mapping[str, Any]) -> str:
    """The text a template makes of a history. Raises `TemplateError`: kind `template` if the template refused."""
    template = compile_template(source)
    try:
        return template.render(messages=messages, tools=tools, documents=None, **options)
    except TemplateError:
        raise
    except Exception as error:  # whatever a user's template does is its failure, not ours
        raise TemplateError(str(error), kind="engine", type=type(error).__name__) from error


def pieces_of(text: str) -> Pieces:
    """A prompt known as text only: all of it frame, and behind the last assistant header gen_prefix, if it is open."""
    p = Pieces()
    tail = open_tail(text)
    if tail is None:
        p.add("frame", text)
    else:
        p.add("frame", text[: len(text) - len(tail) - len(ASSISTANT)])
        p.begin_turn()
        p.add("gen_prefix", tail)
    return p


def places_of(render: Callable[[Any, Any], str], messages: Sequence[Message], tools: Any, text: str) -> Places:
    """`guard.data_places` of these, rendered when it is first asked for and never again."""
    return cache(lambda: data_places(render, messages, tools, text))


def render_jinja(
    template: str | os.PathLike[str],
    format: str,
    messages: Sequence[Message],
    tools: Any,
    options: Mapping[str, Any],
    *,
    add_generation_prompt: bool = True,
    continue_final: str | bool = False,
    marked: bool = False,
) -> Pieces:
    """The prompt of a history by a template file. `format` chooses how a continued message is written.

    `continue_final`: False, or the field to go on with (see `continuation`); `marked`: it goes through the template as
    transformers does it.
    """
    source = source_of(template)
    options = {**options, "add_generation_prompt": add_generation_prompt and not continue_final}

    def render(history: Sequence[Message], declared: Any) -> str:
        return render_text(source, history, declared, options)

    if not continue_final:
        text = render(messages, tools)
        p = pieces_of(text)
        p.guard(places_of(render, messages, tools, text), 0, 0)
        return p
    if marked:
        with_marker, final = mark_final(messages, continue_final)
        text = render(with_marker, tools)
        p = pieces_of(text[: cut_at_marker(text, final)])
        p.guard(places_of(render, with_marker, tools, text), 0, 0)
        return p
    *before, last = messages or [{}]
    p = Pieces()
    text = render(before, tools)
    p.add("frame", text)
    p.guard(places_of(render, before, tools, text), 0, 0)
    p.begin_turn()
    content = last.get("content")
    style = _STYLES.get(format, "block")
    continue_turn(p, last, content if isinstance(content, str) else "", continue_final, style)  # type: ignore[arg-type]
    return p
