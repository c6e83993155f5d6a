"""A template under check: rendered in Jinja2 or natively, and again in MiniJinja where that is installed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import FormatError, TemplateError
from ..prompt import render_prompt
from ..templates import RENDERERS, shipped_template
from ..templates.jinja import compile_template, source_of
from .report import Example

ASSISTANT = "<|im_start|>assistant\n"
END = "<|im_end|>\n"

Messages = Sequence[Mapping[str, Any]]


class Outcome(NamedTuple):
    """What a render gave: `text`, or `error` with its kind (`template`: refused in its own words, `engine`: failed)."""

    text: str | None
    kind: Literal["ok", "template", "engine"] = "ok"
    error: str = ""

    @property
    def shown(self) -> str:
        return self.text if self.text is not None else f"{self.kind} error: {self.error}"


class Asked(NamedTuple):
    """One render that was asked for."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    options: dict[str, Any]
    outcome: Outcome


class Target:
    """A template by name (a native renderer or a shipped file) or file. `options` are passed with every render.

    Raises `FormatError` for what is neither, `TemplateError` for a file that is no Jinja, `ImportError` without Jinja2.
    """

    def __init__(self, template: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> None:
        self.name = os.fspath(template)
        self.options = dict(options or {})
        self.source: str | None = None
        self.asked: dict[str, Asked] = {}
        path = Path(self.name)
        if path.is_file():
            self.source = source_of(path)
        elif self.name in ("robust.jinja", "splice.jinja"):
            self.source = source_of(shipped_template(self.name))
        elif self.name not in RENDERERS:
            raise FormatError(
                f"{self.name!r} is neither a file nor a template; the templates are "
                f"{', '.join((*RENDERERS, 'robust.jinja', 'splice.jinja'))}"
            )
        if self.source is not None:
            compile_template(self.source)
        self.reads = self._reads()
        self._dialect: str | None = None

    def _reads(self) -> frozenset[str]:
        """The arguments the template may read."""
        if self.source is None:
            if self.name == "robust":
                from ..templates.robust import DEFAULTS

                return frozenset(DEFAULTS)
            return frozenset({"enable_thinking", "preserve_thinking", "reasoning_effort", "add_vision_id"})
        from jinja2 import meta

        environment = compile_template(self.source).environment
        return frozenset(meta.find_undeclared_variables(environment.parse(self.source)))

    @property
    def engine(self) -> str:
        return "native" if self.source is None else "jinja2"

    def render(self, messages: Messages, tools: Sequence[Mapping[str, Any]] | None = None, **options: Any) -> Outcome:
        """Renders once; the same question is not asked twice."""
        chosen = {"add_generation_prompt": True, **self.options, **options}
        asked_messages = [dict(m) for m in messages]
        asked_tools = None if tools is None else [dict(t) for t in tools]
        key = json.dumps([asked_messages, asked_tools, chosen], default=repr)
        if key not in self.asked:
            outcome = self._render(asked_messages, asked_tools, chosen)
            self.asked[key] = Asked(asked_messages, asked_tools, chosen, outcome)
        return self.asked[key].outcome

    def _render(self, messages: Any, tools: Any, options: dict[str, Any]) -> Outcome:
        try:
            if self.source is not None:
                return Outcome(render_prompt(messages, "qwen3.8", tools=tools, template=self.source, **options).text)
            robust = self.name == "robust"
            name = "qwen3.8" if robust else self.name
            return Outcome(render_prompt(messages, name, tools=tools, robust=robust, **options).text)
        except TemplateError as error:
            return Outcome(None, "template" if error.kind == "template" else "engine", str(error))

    def example(self, messages: Messages, outcome: Outcome | str, tools: Any = None, **options: Any) -> Example:
        """An example for a finding."""
        shown = outcome if isinstance(outcome, str) else outcome.shown
        return Example([dict(m) for m in messages], {**self.options, **options}, shown, tools)

    # what the template writes

    @property
    def splices(self) -> frozenset[str]:
        """`{"raw"}` if the template writes an assistant message's `raw` field as it is, else empty."""
        raw = "quartz </think> marble\n\n<tool_call>"
        messages = [{"role": "user", "content": "Question?"}, {"role": "assistant", "content": "a", "raw": raw}]
        text = self.render(messages, add_generation_prompt=False).text
        return frozenset({"raw"}) if text and raw in text else frozenset()

    @property
    def dialect(self) -> str | None:
        """`xml` or `json`, as the template writes calls; None if it writes neither."""
        if self._dialect is None:
            text = self.render(
                [
                    {"role": "user", "content": "Question?"},
                    {"role": "assistant", "content": "", "tool_calls": [call({"city": "Oslo"})]},
                    {"role": "tool", "content": "fine"},
                ],
                add_generation_prompt=False,
            ).text
            self._dialect = "xml" if text and "<function=lookup>" in text else "json" if text and '{"name"' in text else ""
        return self._dialect or None

    @property
    def thinking(self) -> dict[str, Any]:
        """The options that make the template let a model think: none, unless it has to be asked."""
        user = [{"role": "user", "content": "Question?"}]
        default, asked = self.render(user).text, self.render(user, enable_thinking=True).text
        if default and asked and "</think>" in self.gen_prefix(default) and "</think>" not in self.gen_prefix(asked):
            return {"enable_thinking": True}
        return {}

    def gen_prefix(self, text: str) -> str:
        """What a prompt ends with behind the last header of an assistant's turn."""
        at = text.rfind(ASSISTANT)
        return "" if at < 0 else text[at + len(ASSISTANT) :]

    def body_of(self, text: str, header: str, number: int = 0) -> str:
        """The body of the `number`-th turn with that header, up to its end token; "" if there is none."""
        found = re.findall(re.escape(header) + r"(.*?)<\|im_end\|>", text, re.DOTALL)
        return found[number] if -len(found) <= number < len(found) else ""


def call(arguments: Any, name: str = "lookup", id: str | None = None) -> dict[str, Any]:
    """A call as a client sends it."""
    made: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return made if id is None else {"id": id, **made}


def tool(name: str = "lookup", **properties: Any) -> dict[str, Any]:
    """A tool definition."""
    parameters = {"type": "object", "properties": {k: {"type": v} for k, v in properties.items()}}
    return {"type": "function", "function": {"name": name, "description": "Looks up.", "parameters": parameters}}
