"""The same template under MiniJinja, and the constructs on which template engines are known to differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..common import common_prefix
from ..templates.jinja import compile_template
from .registry import verdict_of
from .report import Example, Finding, ProbeResult
from .target import Asked, Outcome, Target, call, tool

_MARKUP = "<a href='x'>&</a> \\u003c é"


class _RefusedError(Exception):
    """What `raise_exception` raises under MiniJinja."""


def minijinja_renderer(source: str) -> Callable[[Asked], Outcome]:
    """A function that renders what was asked for under MiniJinja. Raises `ImportError` where it is missing."""
    import minijinja

    def raise_exception(message: Any) -> None:
        raise _RefusedError(str(message))

    failure: Outcome | None = None
    environment = minijinja.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False)
    environment.add_global("raise_exception", raise_exception)
    try:
        environment.add_template("template", source)
    except Exception as error:  # a template MiniJinja cannot read fails with every render
        failure = Outcome(None, "engine", _first_line(error))

    def render(asked: Asked) -> Outcome:
        if failure is not None:
            return failure
        try:
            text = environment.render_template(
                "template", messages=asked.messages, tools=asked.tools, documents=None, **asked.options
            )
        except _RefusedError as error:
            return Outcome(None, "template", str(error))
        except Exception as error:  # whatever fails in there is the template's failure under this engine
            return Outcome(None, "engine", _first_line(error))
        return Outcome(text)

    return render


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def ask_for_engines(target: Target) -> None:
    """Renders what engines are known to write differently, so that it is compared too."""
    described = tool(city="string")
    described["function"]["description"] = _MARKUP
    numbers = {"half": 0.5, "whole": 1.0, "small": 1e-07, "list": [1e-07], "big": 12345678901234567890}
    for values, tools in (({"html": _MARKUP, "list": [_MARKUP]}, [described]), (numbers, [tool(city="string")])):
        turn = {"role": "assistant", "content": _MARKUP, "reasoning_content": "a", "tool_calls": [call(values)]}
        target.render([{"role": "user", "content": "Question?"}, turn, {"role": "tool", "content": _MARKUP}], tools)


CONSTRUCTS = {
    "replace": "`replace`: llama.cpp's older engine drops the text before a match at the start; split and join instead",
    "neighbours": "`loop.previtem` and `loop.nextitem`: not every engine has them; look at the list by index",
    "loop-control": "`break` and `continue`: an extension of Jinja2 that hosts turn on, others do not know",
    "generation": "`{% generation %}`: only transformers knows it",
    "items": "`items` on what may be a string: engines fail on it with different errors; test `is mapping` first",
    "string-sequence": "`is sequence` without `is string`: a string is a sequence in Jinja2 and none in MiniJinja",
}
"""Constructs of a template's source on which engines differ."""


def constructs(source: str) -> Iterator[tuple[str, int]]:
    """The constructs of `CONSTRUCTS` that a source uses, each with the first line it stands on."""
    from jinja2 import nodes

    tree = compile_template(source).environment.parse(source)
    found: dict[str, int] = {}

    def note(name: str, node: nodes.Node) -> None:
        found.setdefault(name, node.lineno)

    for filtered in tree.find_all(nodes.Filter):
        if filtered.name in ("replace", "items"):
            note(filtered.name, filtered)
    for got in tree.find_all(nodes.Getattr):
        if got.attr in ("previtem", "nextitem"):
            note("neighbours", got)
    for called in tree.find_all(nodes.Call):
        if isinstance(called.node, nodes.Getattr) and called.node.attr in ("replace", "items"):
            note(called.node.attr, called)
    for kind, name in ((nodes.Break, "loop-control"), (nodes.Continue, "loop-control")):
        for node in tree.find_all(kind):
            note(name, node)
    if not any(test.name == "string" for test in tree.find_all(nodes.Test)):
        for test in tree.find_all(nodes.Test):
            if test.name == "sequence":
                note("string-sequence", test)
    if "generation" in source and "endgeneration" in source:
        found.setdefault("generation", source[: source.index("endgeneration")].count("\n") + 1)
    yield from sorted(found.items(), key=lambda item: item[1])


def check_engines(target: Target) -> ProbeResult:
    """Everything that was rendered so far, rendered again under MiniJinja and compared; and the source's constructs."""
    if target.source is None:
        return ProbeResult("engines", "not applicable", reason="a native renderer runs on no template engine")
    findings = [
        Finding(f"construct-{name}", f"line {line}: {CONSTRUCTS[name]}", "other engines may write another prompt", "warning")
        for name, line in constructs(target.source)
    ]
    try:
        render = minijinja_renderer(target.source)
    except ImportError:
        reason = "not compared: pip install minijinja"
        return ProbeResult("engines", "warning" if findings else "not run", tuple(findings), reason)
    ask_for_engines(target)
    smallest: dict[str, tuple[int, Finding]] = {}
    for asked in list(target.asked.values()):
        other = render(asked)
        code = difference(asked.outcome, other)
        if code is None:
            continue
        size = len(repr(asked.messages)) + len(repr(asked.options))
        if code not in smallest or size < smallest[code][0]:
            smallest[code] = size, _finding(code, asked, other)
    findings += (finding for _, finding in sorted(smallest.values(), key=lambda item: item[1].code))
    return ProbeResult("engines", verdict_of(findings), tuple(findings))


def difference(a: Outcome, b: Outcome) -> str | None:
    """How two engines' outcomes differ; None if they agree (failing both is agreeing, whatever the words)."""
    if a == b or (a.kind == b.kind == "engine"):
        return None
    if a.text is None or b.text is None:
        if a.text is None and b.text is None:
            return "engines-refuse-differently"
        return "engine-fails" if "engine" in (a.kind, b.kind) else "engines-refuse-differently"
    if _unescaped(a.text) == _unescaped(b.text):
        return "tojson-escapes"
    return "tojson-numbers" if a.text.replace("1e-07", "1e-7") == b.text else "engines-differ"


def _unescaped(text: str) -> str:
    for plain, code in (("<", "003c"), (">", "003e"), ("&", "0026"), ("'", "0027")):
        text = text.replace(f"\\u{code}", plain)
    return text


_WHAT = {
    "engine-fails": "one engine fails where the other does not",
    "engines-refuse-differently": "one engine refuses in other words, or only one refuses",
    "tojson-escapes": "`tojson` escapes `<`, `>`, `&` and `'` under MiniJinja",
    "tojson-numbers": "`tojson` spells small numbers otherwise under MiniJinja: 1e-7 for 1e-07",
    "engines-differ": "the engines write different prompts",
}


def _finding(code: str, asked: Asked, other: Outcome) -> Finding:
    mine, yours = asked.outcome.shown, other.shown
    at = common_prefix(mine, yours)
    cut = slice(max(0, at - 30), at + 60)
    shown = f"jinja2: {mine[cut]!r}; minijinja: {yours[cut]!r}"
    example = Example(asked.messages, asked.options, shown, asked.tools)
    cost = "a server with another engine feeds the model another prompt, and shares no prefix cache with this one"
    return Finding(code, _WHAT[code], cost, "defect", None, example)
