"""The SGLang plugin under SGLang's own code, as its wheel has it: registries, parsers, hook system.

SGLang is not installed (it needs torch); see `host_sources`. What runs as published is listed in `REAL`. The order of
the calls is that of `_process_reasoning_stream`, `_process_tool_call_stream` and the non-streaming path in
`entrypoints/openai/serving_chat.py`; a test holds that file to it.
"""

from __future__ import annotations

import ast
import contextvars
import inspect
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import adapter_inputs
import host_sources
import pytest
from adapter_inputs import Input, cuts, inputs

from qwenparse import DeltaParser, Turn

VERSION = "0.5.23"
FILES = ["sglang/srt/function_call/", "sglang/srt/parser/", "sglang/srt/plugins/", "sglang/srt/entrypoints/openai/"]
REAL = [
    "sglang.srt.function_call.core_types",
    "sglang.srt.function_call.parser_names",
    "sglang.srt.function_call.base_format_detector",
    "sglang.srt.parser.reasoning_parser_names",
    "sglang.srt.parser.inkling_tokenizer",
    "sglang.srt.parser.reasoning_parser",
    "sglang.srt.function_call.function_call_parser",
    "sglang.srt.plugins.hook_registry",
]
SETTING = SimpleNamespace(get=lambda: 0)
GIVEN: dict[str, dict[str, Any]] = {
    "sglang.srt.environ": {
        "envs": SimpleNamespace(SGLANG_TOOL_STRICT_LEVEL=SETTING, SGLANG_FORWARD_UNKNOWN_TOOLS=SETTING)
    },
    "orjson": {}, "xgrammar": {}, "partial_json_parser": {}, "torch": {}, "transformers": {},
}  # fmt: skip


class Tool:
    def __init__(self, tool: dict[str, Any]) -> None:
        self.tool = tool
        self.function = SimpleNamespace(name=tool["function"]["name"], strict=False)

    def model_dump(self) -> dict[str, Any]:
        return self.tool


@pytest.fixture(scope="module")
def host() -> Any:
    root = host_sources.source("sglang", VERSION, FILES)
    modules = host_sources.load(root, "sglang", REAL, GIVEN)
    import qwenparse.adapters.sglang as plugin

    plugin.register()
    modules["sglang.srt.plugins.hook_registry"].HookRegistry.apply_hooks()
    return SimpleNamespace(root=root, plugin=plugin, **{name.rpartition(".")[2]: m for name, m in modules.items()})


class Case:
    """An input as an SGLang request."""

    def __init__(self, host: Any, item: Input) -> None:
        host.plugin.FORMAT = item.format
        host.plugin.POLICY = item.settings.get("policy", adapter_inputs.Policy())
        self.host = host
        self.item = item
        self.tools = [Tool(tool) for tool in item.settings["tools"] or ()]
        self.start = "reasoning" if item.settings.get("start", "reasoning") == "reasoning" else "auto"
        self.request = SimpleNamespace(tools=self.tools, chat_template_kwargs={})

    def ours(self) -> Turn:
        parser = DeltaParser(
            self.item.format,
            tools=self.item.settings["tools"] or [],
            start=self.start,  # type: ignore[arg-type]
            policy=self.host.plugin.POLICY,
        )
        parser.feed(self.item.text)
        parser.close()
        return parser.turn

    def reasoning(self, stream: bool = True) -> Any:
        return self.host.reasoning_parser.ReasoningParser(
            "qwenparse", stream, self.start == "reasoning", self.request, tokenizer=None,
            tool_call_parser_active=bool(self.tools),
        )  # fmt: skip

    def calls(self) -> Any:
        return self.host.function_call_parser.FunctionCallParser(tools=self.tools, tool_call_parser="qwenparse")

    def stream(self, pieces: list[str], *, stream_reasoning: bool = True) -> tuple[str, str, list[list[str]]]:
        reasoning = content = ""
        calls: list[list[str]] = []
        first: Any = None
        second: Any = None
        for place, piece in enumerate([*pieces, ""]):
            last = place == len(pieces)
            first = first or self.reasoning(stream_reasoning)
            thought, normal = first.parse_stream_chunk(piece)
            if last:
                more = first.parse_stream_end()
                thought, normal = (thought or "") + (more[0] or ""), (normal or "") + (more[1] or "")
            reasoning += thought or ""
            if not self.tools:
                content += normal
                continue
            second = second or self.calls()
            text, items = second.parse_stream_chunk(normal)
            if last:
                end = second.parse_stream_end()
                text, items = text + end[0], [*items, *end[1]]
            content += text
            for item in items:
                if item.name:
                    assert item.tool_index == len(calls)
                    calls.append([item.name, ""])
                assert item.tool_index == len(calls) - 1
                calls[-1][1] += item.parameters
        return reasoning, content, calls

    def whole(self) -> tuple[str, str, list[list[str]]]:
        thought, text = self.reasoning(False).parse_non_stream(self.item.text)
        calls: list[list[str]] = []
        if self.tools:
            parser = self.calls()
            if parser.has_tool_call(text):
                text, found = parser.parse_non_stream(text)
                calls = [[c.name, c.parameters] for c in found]
        return thought or "", text or "", calls


def expected(turn: Turn) -> tuple[str, str, list[list[str]]]:
    return turn.reasoning or "", turn.content or "", [[c.name or "", c.arguments_json] for c in turn.calls]


INPUTS = [i for i in inputs(80) if not i.prefix and not any("\ud800" <= c <= "\udfff" for c in i.text)]


@pytest.mark.parametrize("item", INPUTS, ids=lambda i: i.id)
def test_the_hosts_stream_is_ours(host: Any, item: Input) -> None:
    case = Case(host, item)
    want = expected(case.ours())
    for pieces in cuts(item):
        if isinstance(pieces[0] if pieces else "", str):
            assert contextvars.copy_context().run(case.stream, pieces) == want
            assert contextvars.copy_context().run(lambda p=pieces: case.stream(p, stream_reasoning=False)) == want


@pytest.mark.parametrize("item", INPUTS, ids=lambda i: i.id)
def test_the_hosts_whole_answer_is_ours(host: Any, item: Input) -> None:
    case = Case(host, item)
    turn = case.ours()
    reasoning, content, calls = contextvars.copy_context().run(case.whole)
    assert reasoning == (turn.reasoning or "")
    assert calls == [[c.name or "", c.arguments_json] for c in turn.tool_calls]
    if turn.tool_calls or not turn.calls:
        assert content == (turn.content or "")
    else:  # SGLang passes on the text of a turn whose only calls are incomplete
        assert content in item.text


@pytest.mark.parametrize("item", INPUTS[::5], ids=lambda i: i.id)
def test_the_tool_detector_works_alone(host: Any, item: Input) -> None:
    case = Case(host, item)
    if not case.tools:
        return
    alone = DeltaParser(item.format, tools=item.settings["tools"], start="content", policy=host.plugin.POLICY)
    alone.feed(item.text)
    alone.close()
    want = expected(alone.turn)
    for pieces in cuts(item, single=False):
        if isinstance(pieces[0] if pieces else "", str):
            parser = contextvars.copy_context().run(case.calls)
            content = ""
            calls: list[list[str]] = []
            results = [parser.parse_stream_chunk(piece) for piece in pieces] + [parser.parse_stream_end()]
            for text, items in results:
                content += text
                for call in items:
                    if call.name:
                        calls.append([call.name, ""])
                    calls[-1][1] += call.parameters
            assert (content, calls) == want[1:]


def test_streams_of_two_requests_in_one_thread_do_not_meet(host: Any) -> None:
    item = next(i for i in INPUTS if i.id == "typed")
    case = Case(host, item)
    want = expected(case.ours())
    contexts = [contextvars.copy_context() for _ in range(2)]
    parsers = [[context.run(case.reasoning), context.run(case.calls)] for context in contexts]
    got = [["", "", [], None] for _ in contexts]

    def step(which: int, piece: str, last: bool) -> None:
        first = parsers[which][0]
        thought, normal = first.parse_stream_chunk(piece)
        if last:
            thought += first.parse_stream_end()[0]
        got[which][0] += thought  # type: ignore[operator]
        got[which][3] = normal

    def then(which: int, last: bool) -> None:
        second = parsers[which][1]
        text, items = second.parse_stream_chunk(got[which][3])
        if last:
            end = second.parse_stream_end()
            text, items = text + end[0], [*items, *end[1]]
        got[which][1] += text
        for call in items:
            if call.name:
                got[which][2].append([call.name, ""])  # type: ignore[union-attr]
            got[which][2][-1][1] += call.parameters  # type: ignore[index]

    for place in range(0, len(item.text) + 7, 7):
        last = place + 7 > len(item.text) + 6
        for which in (0, 1):
            contexts[which].run(step, which, item.text[place : place + 7], last)
        for which in (1, 0):
            contexts[which].run(then, which, last)
    assert [tuple(g[:3]) for g in got] == [want, want]


def test_another_tool_parser_behind_ours_is_refused(host: Any) -> None:
    case = Case(host, next(i for i in INPUTS if i.settings["tools"]))
    parser = case.reasoning()
    parser.parse_stream_chunk("Hm.")
    with pytest.raises(RuntimeError, match="needs --tool-call-parser qwenparse"):
        parser.parse_stream_chunk(" Yes.")


def test_a_thought_without_an_answer_can_become_content(host: Any) -> None:
    case = Case(host, Input("x", "Hm. Yes", "qwen3.5", {"tools": [], "start": "reasoning"}, "none", ""))
    case.request.chat_template_kwargs = {"force_nonempty_content": True}
    assert case.whole() == ("", "Hm. Yes", [])
    reasoning, content, _ = case.stream(["Hm.", " Yes"])
    assert (reasoning, content) == ("Hm. Yes", "Hm. Yes")  # the host's own detectors repeat it too


def test_a_message_that_is_continued(host: Any) -> None:
    request = host.reasoning_parser.ChatCompletionRequest()
    for before, text, want in (
        ("<think>\nHm", "m.\n</think>\n\nHi", ("m.", "Hi")),
        ("<think>\nHm.\n</think>\n\nHi", " you", ("", "you")),
        ("Hello", ", you", ("", ", you")),
    ):
        request.__dict__.update(
            continue_final_message=True, messages=[SimpleNamespace(role="assistant", content=before)],
            tools=[], chat_template_kwargs={},
        )  # fmt: skip
        parser = host.reasoning_parser.ReasoningParser("qwenparse", True, False, request)
        assert parser.parse_non_stream(text) == want


# ------------------------------------------------------------------------------------------------------ the interface

TOOL_ABSTRACT = {
    "detect_and_parse": ["self", "text", "tools"], "has_tool_call": ["self", "text"], "structure_info": ["self"],
}  # fmt: skip
TOOL_METHODS = {
    **TOOL_ABSTRACT,
    "finish": ["self", "tools"],
    "parse_streaming_increment": ["self", "new_text", "tools"],
    "get_structural_tag_name": ["self"],
}
TOOL_INHERITED = {
    "__init__", "_ends_with_partial_token", "_get_tool_indices", "get_auto_tool_call_structural_tag",
    "get_required_tool_parser", "get_structural_tag", "parse_base_json", "parses_required_natively",
    "parses_without_tools", "supports_structural_tag",
}  # fmt: skip
REASONING_METHODS = {
    "detect_and_parse": ["self", "text"], "finish": ["self"], "parse_streaming_increment": ["self", "new_text"],
}  # fmt: skip
REASONING_INHERITED = {
    "__init__", "get_think_end_token_ids", "get_self_opened_think_start_token_ids", "get_answer_frame",
    "_maybe_apply_force_nonempty_content",
}  # fmt: skip
REASONING_PRIVATE = {
    "_detect_and_parse_impl", "_ends_with_partial_token", "_find_tool_start", "_parse_streaming_increment_impl",
    "_strip_leading_think_start", "_strip_partial_tool_start",
}  # fmt: skip


def _methods(file: Path, name: str) -> dict[str, list[str]]:
    (found,) = (n for n in ast.parse(file.read_text("utf-8")).body if isinstance(n, ast.ClassDef) and n.name == name)
    return {f.name: [a.arg for a in f.args.args] for f in found.body if isinstance(f, ast.FunctionDef)}


def test_every_method_of_the_host_is_known(host: Any) -> None:
    base = host.base_format_detector.BaseFormatDetector
    assert base.__abstractmethods__ == set(TOOL_ABSTRACT)
    tool = _methods(host.root / "sglang/srt/function_call/base_format_detector.py", "BaseFormatDetector")
    assert {k: v for k, v in tool.items() if k not in TOOL_INHERITED} == TOOL_METHODS
    reasoning = _methods(host.root / "sglang/srt/parser/reasoning_parser.py", "BaseReasoningFormatDetector")
    rest = {k: v for k, v in reasoning.items() if k not in REASONING_INHERITED | REASONING_PRIVATE}
    assert rest == REASONING_METHODS
    plugin = host.plugin
    for ours, methods in ((plugin.QwenToolDetector, TOOL_METHODS), (plugin.QwenReasoningDetector, REASONING_METHODS)):
        for name, arguments in methods.items():
            assert list(inspect.signature(vars(ours)[name]).parameters) == arguments


def test_the_host_hands_over_what_the_hook_reads(host: Any) -> None:
    names = list(inspect.signature(host.reasoning_parser.ReasoningParser.__init__).parameters)
    assert names[:5] == ["self", "model_type", "stream_reasoning", "force_reasoning", "request"]
    assert host.plugin.NAME in host.parser_names.TOOL_CALL_PARSER_NAMES
    assert host.plugin.NAME in host.reasoning_parser_names.REASONING_PARSER_NAMES


def test_the_hosts_order_of_calls_is_the_one_driven_here(host: Any) -> None:
    tree = ast.parse((host.root / "sglang/srt/entrypoints/openai/serving_chat.py").read_text("utf-8"))
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}

    def called(name: str, wanted: set[str]) -> list[str]:
        found = [
            (n.lineno, n.func.attr if isinstance(n.func, ast.Attribute) else n.func.id)
            for n in ast.walk(functions[name])
            if isinstance(n, ast.Call) and isinstance(n.func, (ast.Attribute, ast.Name))
        ]
        return [attr for _, attr in sorted(found) if attr in wanted]

    both = {"_process_reasoning_stream", "_process_tool_call_stream"}
    chunk = next(name for name, f in functions.items() if set(called(name, both)) == both)
    assert called(chunk, both) == ["_process_reasoning_stream", "_process_tool_call_stream"]
    steps = {"ReasoningParser", "FunctionCallParser", "parse_stream_chunk", "parse_stream_end"}
    assert called("_process_reasoning_stream", steps) == ["ReasoningParser", "parse_stream_chunk", "parse_stream_end"]
    assert called("_process_tool_call_stream", steps)[-2:] == ["parse_stream_chunk", "parse_stream_end"]


def test_a_structural_tag_begins_and_ends_a_call_that_is_read(host: Any) -> None:
    info = host.plugin.QwenToolDetector().structure_info()("sh")
    parser = DeltaParser("qwen3.5", start="content", tools=[{"name": "sh"}])
    parser.feed(info.begin + json.dumps({"cmd": "ls"}) + info.end)
    parser.close(stop="im_end")
    (call,) = parser.turn.tool_calls
    assert info.begin.startswith(info.trigger) and (call.name, call.arguments) == ("sh", {"cmd": "ls"})
